/** The SQL of managing rows, as it is sent; `npx vitest run --project unit -u` writes the file anew. */
import { describe, expect, test } from "vitest";
import { placeOf } from "../../src/broker/admin.ts";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { hexText } from "../../src/broker/hex-text.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import { columnOf, describeTable } from "../support/described-table.ts";

const table = describeTable({
  schema: "app",
  columns: {
    id: ["bigint", "id"],
    grp: ["text", "group"],
    due: ["timestamp", "retryAfter"],
    att: ["smallint", "attempt"],
    lease: ["timestamp", "lockedUntil"],
    done: ["timestamp", "processedAt"],
    why: "text",
    pay: ["bytes", "payload"],
  },
});
const locked = describeTable({ columns: { id: ["bigint", "id"] }, lockKey: ["job-", "id"] });
const bare = describeTable({ columns: { id: ["uuid", "id"], pay: ["json", "payload"] } });

function statements(): [string, Statement][] {
  const { admin } = postgres;
  if (admin === undefined) throw new Error("the dialect has no administration");
  return [
    ["status", admin.status(table)],
    ["status of a bare table", admin.status(bare)],
    ["rows", admin.rows(table, { order: "descending", reason: columnOf(table, "why") })],
    ["rows of a bare table", admin.rows(bare, { order: "ascending" })],
    ["row", admin.row(table)],
    ["move to a group", admin.move(table, {})],
    [
      "move to a table",
      admin.move(bare, { table, copied: [[columnOf(bare, "pay"), columnOf(table, "pay")]] }),
    ],
    ["remove", admin.remove(table)],
    ["remove of an advisory lock", admin.remove(locked)],
    ["purge", admin.purge(table)],
  ];
}

describe("statements that manage rows", () => {
  test("are these", async () => {
    const text = statements()
      .map(([which, { params, text: sql }]) => `-- ${which}: ${params.join(", ")}\n${sql};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot("table-sql/admin.sql");
  });

  test("use every parameter that they name, and name every one that they use", () => {
    for (const [which, { params, text }] of statements()) {
      const used = new Set(Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
      expect(
        [...used].sort((a, b) => a - b),
        which,
      ).toEqual(params.map((_, at) => at + 1));
    }
  });

  test("purge is refused for a table that keeps no processed rows", () => {
    expect(() => postgres.admin?.purge(bare)).toThrow("has no column of processed rows");
  });
});

describe("a connection to manage rows through", () => {
  const conn = { query: () => ({ rows: [] }) };

  test("80: needs a dialect that can, and says so", () => {
    const { admin: _, ...without } = postgres;
    expect(() => deadLetters(conn, { description: table }, { dialect: without })).toThrow(
      'app.jobs: the dialect postgres has no statements to manage rows with (its member "admin")',
    );
    expect(() => deadLetters(conn, { description: table })).toThrow(
      'app.jobs: the connection does not tell its database; say it, as { dialect: "postgres" }',
    );
    expect(() => deadLetters({}, { description: table })).toThrow(TypeError);
  });

  test("needs a queue or a table", () => {
    for (const wrong of ["jobs", null, {}, { table: "jobs", groups: "one" }]) {
      expect(() => placeOf(wrong)).toThrow("this takes a queue or a described table, not");
    }
  });
});

describe("bytes of a payload as text", () => {
  test.each([
    ["7b7d", false, "{}"],
    ["c3a4", false, "ä"],
    ["61c3", true, "a"],
    ["61c3", false, "\\x61c3"],
    ["ff00", true, "\\xff00"],
    ["", false, ""],
  ])("%s (cut: %s): %s", (hex, isCut, text) => {
    expect(hexText(hex, isCut)).toBe(text);
  });
});

describe("a description's type fits a column's", () => {
  test.each([
    ["smallint", "smallint", true],
    ["smallint", "integer", false],
    ["integer", "bigint", false],
    ["text", "integer", false],
    ["text", "character varying(200)", true],
    ["text", "mood", true],
    ["text", "text[]", false],
    ["json", "json", true],
    ["json", "text", false],
    ["timestamp", "timestamp(3) with time zone", true],
    ["timestamp", "date", false],
    ["decimal", "numeric(10,2)", true],
    ["decimal", "double precision", false],
    ["custom", "point", true],
  ] as const)("%s, %s: %s", (type, databases, fits) => {
    expect(postgres.admin?.fits(type, databases)).toBe(fits);
  });
});
