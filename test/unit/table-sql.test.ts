/**
 * The SQL of described tables on PostgreSQL, as it is sent. It stands in table-sql/*.sql, so that a change
 * shows in review: `npx vitest run --project unit -u` writes the files anew.
 */
import { describe, expect, test } from "vitest";
import { dialectNamed } from "../../src/dialect/dialects.ts";
import { postgres } from "../../src/dialect/postgres/postgres.ts";
import { arrayText, claimLostMark, fitted, literal } from "../../src/dialect/postgres/sql.ts";
import { sqlTables, statementsOf, statementsText } from "../support/table-sql.ts";

describe.each(Object.entries(sqlTables))("%s", (name, table) => {
  test("has these statements", async () => {
    await expect(statementsText(postgres, table)).toMatchFileSnapshot(`table-sql/${name}.sql`);
  });

  test("has this DDL", async () => {
    const text = postgres
      .ddl(table, { listenNotify: true })
      .map((each) => `${each};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot(`table-sql/${name}-ddl.sql`);
  });

  test("uses every parameter that it names, and names every one that it uses", () => {
    for (const [which, { params, text }] of statementsOf(postgres, table)) {
      const used = new Set(Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
      expect(
        [...used].sort((a, b) => a - b),
        which,
      ).toEqual(params.map((_, at) => at + 1));
      expect(new Set(params).size, which).toBe(params.length);
    }
  });

  test("uses no word that PostgreSQL 11 does not know", () => {
    for (const [which, { text }] of statementsOf(postgres, table)) {
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
