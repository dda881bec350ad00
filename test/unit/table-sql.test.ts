/**
 * The SQL of described tables on PostgreSQL, as it is sent. It stands in table-sql/*.sql, so that a change
 * shows in review: `npx vitest run --project unit -u` writes the files anew.
 */
import { describe, expect, test } from "vitest";
import { dialectNamed } from "../../src/dialect/dialects.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import { arrayText, claimLostMark, fitted, literal } from "../../src/dialect/postgres/sql.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { TableDescription } from "../../src/table/description.ts";
import { columnOf, describeTable, type TestColumns } from "../support/described-table.ts";

const BASE = {
  id: ["bigint", "id"],
  grp: ["text", "group"],
  due: ["timestamp", "retryAfter"],
  att: ["smallint", "attempt"],
  pay: ["json", "payload"],
} as const satisfies TestColumns;
const LEASE = { lease: ["timestamp", "lockedUntil"] } as const satisfies TestColumns;
const PRIORITY = { prio: ["integer", "priority"] } as const satisfies TestColumns;
const DONE = { done: ["timestamp", "processedAt"], why: "text" } as const satisfies TestColumns;

const graves = describeTable({
  name: "graves",
  columns: { id: ["bigint", "id"], pay: "json", tries: ["integer", "attempt"], reason: "text" },
});
const tables = {
  "row-lock": describeTable({ schema: "app", columns: { ...BASE, ...DONE } }),
  "row-lock-fifo": describeTable({ schema: "app", columns: BASE, fifo: "fifo" }),
  lease: describeTable({ columns: { ...BASE, ...LEASE, ...PRIORITY } }),
  "lease-system-clock": describeTable({
    columns: { id: ["uuid", "id"], due: ["timestamp", "retryAfter"], ...LEASE },
    clock: "system",
  }),
  "lease-fifo": describeTable({ columns: { ...BASE, ...LEASE }, fifo: "fifo" }),
  "lease-strict": describeTable({ columns: { ...BASE, ...LEASE, ...PRIORITY }, fifo: "strict" }),
  "advisory-lock": describeTable({ columns: BASE, lockKey: ["job-", "id", "/", "grp"] }),
};

function statementsOf(table: TableDescription): [string, Statement][] {
  const { group, payload } = table.roles;
  const reason = table.columns.find(({ name }) => name === "why");
  const settings = {
    columns: payload === undefined ? [] : [payload],
    groups: group === undefined ? ("none" as const) : ("one" as const),
    mostRows: 10,
    leaseMs: 30_000,
    deadLetter:
      reason === undefined && payload !== undefined
        ? {
            table: graves,
            reason: columnOf(graves, "reason"),
            copied: [[payload, columnOf(graves, "pay")]] as const,
          }
        : { ...(reason && { reason }) },
  };
  const { advisoryLock, lease, rowLock } = postgres;
  const forms = { advisoryLock, lease, rowLock };
  const all: [string, Statement][] = Object.entries(forms[table.form]?.(table, settings) ?? {});
  const every =
    table.fifo === "none"
      ? undefined
      : forms[table.form]?.(table, { ...settings, groups: "every" });
  return [
    ...all,
    ...(every === undefined ? [] : [["claim of every group", every.claim] as [string, Statement]]),
    ["columns", postgres.inspection.columns(table)],
    ["insert", postgres.insert(table, table.columns.slice(0, 3), 2)],
  ];
}

describe.each(Object.entries(tables))("%s", (name, table) => {
  test("has these statements", async () => {
    const text = statementsOf(table)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([which, { params, text }]) => `-- ${which}: ${params.join(", ")}\n${text};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot(`table-sql/${name}.sql`);
  });

  test("has this DDL", async () => {
    const text = postgres
      .ddl(table, { listenNotify: true })
      .map((each) => `${each};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot(`table-sql/${name}-ddl.sql`);
  });

  test("uses every parameter that it names, and names every one that it uses", () => {
    for (const [which, { params, text }] of statementsOf(table)) {
      const used = new Set(Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
      expect(
        [...used].sort((a, b) => a - b),
        which,
      ).toEqual(params.map((_, at) => at + 1));
      expect(new Set(params).size, which).toBe(params.length);
    }
  });

  test("uses no word that PostgreSQL 11 does not know", () => {
    for (const [which, { text }] of statementsOf(table)) {
      expect(text, which).not.toMatch(/\bMATERIALIZED\b|\bMERGE\b|pg_current_xact|gen_random_uuid/);
    }
  });
});

describe("the words", () => {
  test("a list quotes what an array would read otherwise", () => {
    expect(arrayText([])).toBe("{}");
    expect(arrayText([1, "a-b", "2026-01-01T00:00:00.000000Z", null])).toBe(
      "{1,a-b,2026-01-01T00:00:00.000000Z,NULL}",
    );
    expect(arrayText(["", "null", 'a"b', "c\\d", "e,f", "{g}", " h"])).toBe(
      '{"","null","a\\"b","c\\\\d","e,f","{g}"," h"}',
    );
  });

  test("a literal means the same under either setting of standard_conforming_strings", () => {
    expect(literal("it's")).toBe("'it''s'");
    expect(literal("a\\'b")).toBe("E'a\\\\''b'");
  });

  test("a name of more than 63 bytes is cut between characters, and told apart", () => {
    const long = "ü".repeat(40);
    expect(Buffer.byteLength(fitted(long, "_idx"))).toBeLessThanOrEqual(63);
    expect(fitted(long, "_idx")).toMatch(/^ü+_[\da-f]{8}_idx$/);
    expect(fitted(long, "")).not.toBe(fitted(`${long}x`, ""));
  });

  test("a begin says its level, and refuses one that PostgreSQL has not", () => {
    expect(postgres.begin(undefined).text).toBe("BEGIN");
    expect(postgres.begin("serializable").text).toBe("BEGIN ISOLATION LEVEL SERIALIZABLE");
    expect(() => postgres.begin("snapshot")).toThrow(
      "PostgreSQL opens readCommitted, repeatableRead, serializable, not snapshot",
    );
    expect(() => postgres.begin("immediate")).toThrow(TypeError);
  });

  test("a lost claim is known by its words", () => {
    expect(postgres.errors.isClaimLost(new Error(`invalid: "${claimLostMark}, rows: 0"`))).toBe(
      true,
    );
    expect(postgres.errors.isClaimLost(new Error("another"))).toBe(false);
  });

  test("a dialect is found by its name", () => {
    expect(dialectNamed("postgres")).toBe(postgres);
    expect(() => dialectNamed("constructor")).toThrow('there is no dialect "constructor" here');
  });
});
