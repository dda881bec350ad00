/** What tests say to SQL Server by themselves, read by a grammar: no server is here to refuse it. */
import { describe, expect, test } from "vitest";
import { SQLSERVER_DEAD } from "../support/dead-words.ts";
import { type EventConn, eventWordsOf } from "../support/event-words.ts";
import { sqlserverRows } from "../support/inbox-rows.ts";
import { keyLocksOf } from "../support/key-locks.ts";
import { tsqlFaults } from "../support/tsql.ts";
import { wordsOf } from "../support/words.ts";

test.each([
  ["a dead row", SQLSERVER_DEAD.insert, 6],
  ["many dead rows", SQLSERVER_DEAD.many(2500), 0],
  ["the keys of rows", SQLSERVER_DEAD.keys, 1],
  ["rows in bulk", sqlserverRows({ count: 100, aggregate: "CONCAT('other-', n)" }), 0],
  ["a row in work", sqlserverRows({ count: 1, state: "processing", leaseSeconds: 3600 }), 0],
  ["a processed row", sqlserverRows({ count: 1, state: "processed", startSeconds: -60 }), 0],
])("%s is T-SQL", (_what, text, params) => {
  expect(tsqlFaults(text, params)).toEqual([]);
});

const words = eventWordsOf("sqlserver");

/** What such a call says, with how many parameters. */
async function said(call: (conn: EventConn) => Promise<unknown>): Promise<[string, number]> {
  const texts: [string, number][] = [];
  await call({
    query: async (text, params = []) => {
      texts.push([text, params.length]);
      return { rows: [], rowCount: 0 };
    },
  });
  const [only] = texts;
  if (only === undefined || texts.length > 1) throw new Error(`it said ${texts.length} things`);
  return only;
}

test.each<[string, (conn: EventConn) => Promise<unknown>]>([
  ["lock", (conn) => words.lock(conn, "key")],
  ["unlock", (conn) => words.unlock(conn, "key")],
  ["lease", (conn) => words.writeLease(conn, 1n, new Date(0))],
])("an event's %s is T-SQL", async (_what, call) => {
  const [text, params] = await said(call);
  expect(tsqlFaults(text, params)).toEqual([]);
});

test("what events claim by, and whether keys are held, are T-SQL", () => {
  const { limit, random, skipLocked, value } = words;
  expect(tsqlFaults(`SELECT id FROM jobs ORDER BY ${random} ${limit(1)};`, 1)).toEqual([]);
  const newest = `SELECT id FROM jobs WHERE grp = ${value("text", 1)} ORDER BY id DESC ${limit(2)} ${skipLocked};`;
  expect(tsqlFaults(newest, 2)).toEqual([]);
  expect(tsqlFaults(words.held(["a", "b"]), 0)).toEqual([]);
});

const { coarsen, later, now, other, rename, truth } = wordsOf("sqlserver");

describe("the words of tests on SQL Server have no faults", () => {
  test.each(
    Object.entries({
      rename: rename("jobs", "away"),
      coarsen: coarsen?.("jobs", "lease", 3) ?? "nothing",
      other: other ?? "nothing",
      "time passes": `SELECT ${truth(`${now} > ${later("CAST('2030-01-01' AS datetime2)", 1)}`)} AS is_over`,
    }),
  )("%s", (_what, text) => {
    expect(tsqlFaults(text, 0)).toEqual([]);
  });

  test("locks of keys are taken, and given back", async () => {
    const said: string[] = [];
    const session = {
      query: async (text: string) => {
        said.push(text);
        return { rows: [], rowCount: 0 };
      },
      begin: async () => {},
      commit: async () => {},
      rollback: async () => {},
      release: () => {},
    };
    const { query } = session;
    const locks = await keyLocksOf({ dialect: "sqlserver", query });
    await locks.take(session, "a");
    await locks.give(session, "a");
    expect(said).toHaveLength(2);
    for (const text of said) expect(tsqlFaults(text, 1)).toEqual([]);
  });
});
