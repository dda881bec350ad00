import { expect, test } from "vitest";
import { quoteChannel } from "../../src/driver/channel.ts";
import { FifoLock } from "../../src/driver/fifo-lock.ts";
import { flushGroups } from "../../src/driver/flush-groups.ts";
import { connectionSourceHint, isConnectionSource } from "../../src/driver/is-connection-source.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { fromPglite } from "../../src/driver/pglite.ts";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { textParameter } from "../../src/driver/text-parameter.ts";

test("a value that cannot be a parameter is refused by its position", () => {
  expect(() => textParameter(Symbol("x"), 3)).toThrow("parameter $3 is a symbol");
  expect(() => textParameter(() => 1, 1)).toThrow(TypeError);
  expect(() => textParameter(new Date(Number.NaN), 2)).toThrow("parameter $2 is an invalid Date");
});

test("dates of every year are written as PostgreSQL reads them", () => {
  expect(textParameter(new Date("2024-02-29T00:00:00Z"), 1)).toBe("2024-02-29T00:00:00.000Z");
  expect(textParameter(new Date("+012345-01-02T00:00:00Z"), 1)).toBe("12345-01-02T00:00:00.000Z");
  expect(textParameter(new Date("-000043-03-15T00:00:00Z"), 1)).toBe("0044-03-15T00:00:00.000Z BC");
  expect(textParameter(new Date("0000-03-15T00:00:00Z"), 1)).toBe("0001-03-15T00:00:00.000Z BC");
});

test("a channel that PostgreSQL would cut or refuse is refused", () => {
  expect(quoteChannel('a"b')).toBe('"a""b"');
  for (const channel of ["", "x".repeat(64), "ä".repeat(32), "a\0b"]) {
    expect(() => quoteChannel(channel)).toThrow(RangeError);
  }
});

test("a lock lets in one at a time, in order, and lets go of who gave up", async () => {
  const lock = new FifoLock();
  const order: string[] = [];
  const first = await lock.acquire();
  const controller = new AbortController();
  const second = lock.acquire(controller.signal);
  const third = lock.acquire().then((end) => {
    order.push("third");
    return end;
  });
  const fourth = lock.acquire().then((end) => {
    order.push("fourth");
    return end;
  });
  controller.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  first();
  first();
  (await third)();
  (await fourth)();
  expect(order).toEqual(["third", "fourth"]);
  (await lock.acquire())();
});

test("steps share a flush where one Sync keeps the promise", () => {
  const begin = { kind: "begin", text: "BEGIN", afterBegin: "" } as const;
  const query = { kind: "query", text: "SELECT 1" } as const;
  const commit = { kind: "commit" } as const;
  expect(flushGroups([begin, query, commit, query])).toHaveLength(1);
  expect(flushGroups([commit, query])).toEqual([[commit], [query]]);
  expect(flushGroups([commit, begin, query, commit])).toEqual([[commit], [begin, query, commit]]);
  expect(flushGroups([query, begin, query, commit])).toEqual([[query], [begin, query, commit]]);
  expect(flushGroups([query, commit, begin, query])).toHaveLength(1);
  expect(flushGroups([])).toEqual([]);
});

test("a source is told by its shape, and what is none gets a hint", () => {
  expect(isConnectionSource({ connect: async () => ({}) })).toBe(true);
  expect(isConnectionSource({ connect: async () => ({}), max: 3, listen: () => {} })).toBe(true);
  const pool = { connect() {}, query() {}, end() {}, totalCount: 0 };
  for (const value of [
    undefined,
    null,
    5,
    "pg",
    {},
    { connect: 1 },
    { connect() {}, max: "3" },
    pool,
  ]) {
    expect(isConnectionSource(value)).toBe(false);
  }
  expect(connectionSourceHint(pool)).toContain("fromPg(pool)");
  expect(connectionSourceHint({})).toContain("connect()");
});

test("adapters refuse what they cannot use, and say what they take", () => {
  const bad = (value: unknown): never => value as never;
  const pool = { connect: async () => bad(undefined) };
  class Pool {}
  expect(() => fromPg(bad(undefined))).toThrow("fromPg: takes a pool");
  expect(() => fromPg(bad({ Pool }))).toThrow("needs a connection string");
  expect(() => fromPg(bad({}), "postgres://x")).toThrow("the pg module as the first argument");
  expect(() => fromPg(bad({ Pool }), " ")).toThrow("blank");
  expect(() => fromPg(bad({ Pool }), "postgres://x", { max: 0 })).toThrow("max is 0");
  expect(() => fromPg(pool, bad({ prepare: "no" }))).toThrow("prepare is no");
  expect(() => fromPg(pool, bad(3))).toThrow("options is number");
  expect(() => fromPg(pool, bad({ onIdleError: 1 }))).toThrow("onIdleError");
  expect(() => fromPostgresJs(bad({}))).toThrow("fromPostgresJs: takes the sql");
  expect(() => fromPglite(bad({}))).toThrow("fromPglite: takes a PGlite database");
});
