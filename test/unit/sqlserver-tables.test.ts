/** What the SQL of described tables on SQL Server is given, and what it refuses, without a server. */
import { describe, expect, test } from "vitest";
import { formStatements } from "../../src/broker/statements.ts";
import { bind } from "../../src/dialect/bind.ts";
import { dialectNamed } from "../../src/dialect/dialects.ts";
import { sqlserver } from "../../src/dialect/sqlserver/sqlserver.ts";
import { hasParts } from "../../src/driver/run-steps.ts";
import type { IsolationLevel, TableDescription } from "../../src/table/description.ts";
import { columnOf, describeTable } from "../support/described-table.ts";

const settings = { columns: [], groups: "none", mostRows: 5 } as const;
const leased = describeTable({
  columns: {
    id: ["bigint", "id"],
    att: ["smallint", "attempt"],
    lease: ["timestamp", "lockedUntil"],
  },
});
const locked = describeTable({ columns: { id: ["uuid", "id"], note: "text" } });

function statementsAt(table: TableDescription, isolation: IsolationLevel) {
  return formStatements(sqlserver, { ...table, isolation }, settings, { leaseMs: 1000 });
}

test("the dialect goes by its name", () => {
  expect(dialectNamed("sqlserver")).toBe(sqlserver);
});

describe("levels", () => {
  test.each(["readCommitted", "repeatableRead"] as const)("a row lock claim opens %s", (level) => {
    expect(statementsAt(locked, level).has("claim")).toBe(true);
  });

  test.each(["readUncommitted", "serializable", "snapshot"] as const)(
    "a row lock claim does not open %s, and a lease's handler does",
    (level) => {
      expect(() => statementsAt(locked, level)).toThrow(
        `the row lock claim opens no transaction at isolation ${level} on sqlserver; it opens readCommitted, repeatableRead`,
      );
      expect(statementsAt(leased, level).has("claim")).toBe(true);
    },
  );
});

describe("values", () => {
  const { bigint, boolean, decimal, smallint, timestamp, uuid } = sqlserver.types;

  test.each([
    ["12.50", "12.50"],
    ["-.5", "-.5"],
    [1e21, "1000000000000000000000.0"],
    ["1.5e3", "1500.0"],
    ["15e-3", "0.015"],
    ["-2.5E-1", "-0.25"],
    [12n, "12"],
  ])("the decimal %s goes as a text that a decimal is made of", (given, sent) => {
    expect(Number(decimal.encode(given))).toBe(Number(given));
    expect(decimal.encode(given)).toBe(sent);
  });

  test("what is no value of its type is refused before it is sent", () => {
    expect(() => bigint.encode(2n ** 63n)).toThrow("takes a bigint of 64 bits");
    expect(() => smallint.encode(32_768)).toThrow("takes a whole number in the range of smallint");
    expect(() => uuid.encode("1")).toThrow("takes a UUID");
    expect(() => decimal.encode("1,5")).toThrow("takes a decimal number as text");
    expect(() => boolean.encode(1)).toThrow("takes true or false");
    // datetime2 begins with the year 1.
    expect(() => timestamp.encode(new Date("0000-06-01T00:00:00Z"))).toThrow("the years 1 to 9999");
  });

  test("a time is read with as many digits as the column has", () => {
    for (const text of ["2026-12-01T06:39:19", "2026-12-01T06:39:19.0000000"]) {
      expect(timestamp.decode(text)).toEqual(new Date("2026-12-01T06:39:19.000Z"));
    }
    expect(timestamp.decode("2026-12-01T06:39:19.6571239")).toEqual(
      new Date("2026-12-01T06:39:19.657Z"),
    );
    expect(timestamp.encode(new Date("2026-12-01T06:39:19.657Z"))).toBe("2026-12-01T06:39:19.657");
  });

  test("a UUID has one spelling", () => {
    const capitals = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    expect(uuid.encode(capitals)).toBe(capitals.toLowerCase());
    expect(uuid.decode(capitals)).toBe(capitals.toLowerCase());
  });
});

describe("rows in hand", () => {
  const statements = sqlserver.lease?.(leased, { ...settings, leaseMs: 1000 });
  const given = (ids: readonly string[], more: Readonly<Record<string, unknown>> = {}) =>
    statements && bind(statements.retry, { ids, tokens: [], attempts: [], ...more });

  test("go in one order, whatever order they are given in, and lose no digit", async () => {
    const biggest = "9223372036854775807";
    const values = {
      ids: [biggest, "9", "10"],
      tokens: ["a", "b", null],
      attempts: ["1", "2", "3"],
    };
    const first = statements && bind(statements.ackOrFail, values).params?.[0];
    expect(JSON.parse(String(first))).toEqual([
      [0, "9", "b", "2", null, null],
      [1, "10", null, "3", null, null],
      [2, biggest, "a", "1", null, null],
    ]);
  });

  test("take a transaction where they are several, and none where one is alone", () => {
    const [one, two] = [given(["1"]), given(["1", "2"])];
    expect(one && hasParts(one)).toBe(false);
    expect(two && hasParts(two)).toBe(true);
  });

  test("take one always where they go to another table", () => {
    const table = describeTable({ name: "dead", columns: { id: ["uuid", "id"], note: "text" } });
    const copied = [[columnOf(locked, "note"), columnOf(table, "note")]] as const;
    const built = sqlserver.rowLock?.(locked, { ...settings, deadLetter: { table, copied } });
    const step = built?.deadLetter && bind(built.deadLetter, { ids: ["1"], reasons: ["no"] });
    expect(step && hasParts(step)).toBe(true);
  });

  test("a fraction of a millisecond counts as a whole one", () => {
    const due = describeTable({
      columns: { id: ["bigint", "id"], due: ["timestamp", "retryAfter"] },
    });
    const built = sqlserver.rowLock?.(due, settings);
    const step = built?.retryAfter && bind(built.retryAfter, { ids: ["1"], delaysMs: [12.25] });
    const steps = step?.program?.run();
    const sent = steps?.next().value;
    expect(sent).toMatchObject({ params: [JSON.stringify([[0, "1", null, null, "13", null]])] });
  });
});

describe("where a server takes lock hints for comments", () => {
  const whole = describeTable({
    columns: {
      id: ["bigint", "id"],
      grp: ["text", "group"],
      due: ["timestamp", "retryAfter"],
      lease: ["timestamp", "lockedUntil"],
      done: ["timestamp", "processedAt"],
    },
  });

  test("a lease's UPDATE asks the whole question again of what it writes", () => {
    const one = { ...settings, groups: "one", leaseMs: 1000 } as const;
    const text = sqlserver.lease?.(whole, one).claim.text ?? "";
    const [, inner = ""] = /ON l\.\[id\] = candidate\.id\n {2}WHERE (.*)$/m.exec(text) ?? [];
    const [, outer = ""] = /ON i\.\[id\] = picked\.id\nWHERE (.*)$/m.exec(text) ?? [];
    for (const column of ["grp", "due", "lease", "done"]) expect(inner).toContain(`l.[${column}]`);
    expect(outer).toBe(inner.replaceAll("l.[", "i.["));
  });

  test("a row lock's claim takes the row's application lock first, and asks the question under it", () => {
    const { lockedUntil: _, ...roles } = whole.roles;
    const table: TableDescription = { ...whole, form: "rowLock", roles };
    const text = sqlserver.rowLock?.(table, { ...settings, groups: "one" }).claim.text ?? "";
    const [looking = "", taking = ""] = text.split(/EXEC @granted = sp_getapplock .*\n/);
    expect(looking).toContain("IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)");
    expect(taking).toMatch(/^IF @granted >= 0\nBEGIN\nINSERT INTO @claimed /);
    const [, conditions = ""] = /WHERE i\.\[id\] = @id AND (.*);$/m.exec(taking) ?? [];
    for (const column of ["grp", "due", "done"]) expect(conditions).toContain(`i.[${column}]`);
  });

  test.each(["rowLock", "lease"] as const)(
    "a group's claim, %s, holds its application lock before it reads the head",
    (form) => {
      const { lockedUntil, ...roles } = whole.roles;
      const table: TableDescription = {
        ...whole,
        form,
        fifo: "fifo",
        roles: form === "lease" ? whole.roles : roles,
      };
      const one = { ...settings, groups: "one", leaseMs: 1000 } as const;
      const built =
        form === "lease" ? sqlserver.lease?.(table, one) : sqlserver.rowLock?.(table, one);
      const [before = "", after = ""] = built?.claim.text.split("EXEC @granted = ") ?? [];
      expect(before).not.toContain("FROM [jobs]");
      expect(after).toContain("@LockOwner = N'Transaction', @LockTimeout = 0;\nIF @granted >= 0");
      expect(after).toContain("SELECT TOP (1) @id = h.[id]");
      expect(after.includes(`o.[${lockedUntil?.name}] > @now`)).toBe(form === "lease");
    },
  );
});

test("parts of a key that have collations of their own are told by one", () => {
  const table = describeTable({
    columns: { id: ["bigint", "id"], grp: ["text", "group"], note: "text" },
    lockKey: ["grp", "/", "note"],
  });
  const claim = sqlserver.advisoryLock?.(table, settings).claim?.text ?? "";
  const parts = claim.match(/COALESCE\(CONVERT\(nvarchar\(max\), i\.\[(grp|note)\]\)[^,]*,/g) ?? [];
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) expect(part).toContain("COLLATE Latin1_General_BIN2");
});

describe("an insert", () => {
  test("answers the UUIDs that it makes", () => {
    const statement = sqlserver.insert(locked, [columnOf(locked, "note")], 2);
    const steps = bind(statement, { r0c0: "a", r1c0: "b" }).program?.run();
    const sent = steps?.next().value;
    const { params = [] } = sent !== undefined && "params" in sent ? sent : {};
    const answer = steps?.next({ rows: [], rowCount: 2 });
    expect(params.map(String).sort()).toEqual(
      ["a", "b", ...(Array.isArray(answer?.value) ? answer.value.map(({ id }) => id) : [])].sort(),
    );
    expect(params).toHaveLength(4);
  });

  test("of several rows whose text ids are not given is refused", () => {
    const texts = describeTable({ columns: { id: ["text", "id"], note: "text" } });
    expect(() => sqlserver.insert(texts, [columnOf(texts, "note")], 2)).toThrow(
      "SQL Server does not say of which row each id is that it has made",
    );
  });
});
