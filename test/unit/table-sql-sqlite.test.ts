/**
 * The SQL of described tables on SQLite, as it is sent. It stands in table-sql-sqlite/*.sql, so that a change
 * shows in review: `npx vitest run --project unit -u` writes the files anew.
 */
import { describe, expect, test } from "vitest";
import { sqlite } from "../../src/dialect/sqlite/sqlite.ts";
import { partsOf, sqlTables, statementsOf, statementsText } from "../support/table-sql.ts";

const tables = Object.entries(sqlTables).filter(([, { form }]) =>
  sqlite.features.forms.includes(form),
);

describe.each(tables)("%s", (name, table) => {
  test("has these statements", async () => {
    await expect(statementsText(sqlite, table)).toMatchFileSnapshot(`table-sql-sqlite/${name}.sql`);
  });

  test("has this DDL", async () => {
    const text = sqlite
      .ddl(table)
      .map((each) => `${each};\n`)
      .join("\n");
    await expect(text).toMatchFileSnapshot(`table-sql-sqlite/${name}-ddl.sql`);
  });

  test("binds a parameter for each place", () => {
    for (const [which, { params, text }] of statementsOf(sqlite, table).flatMap(partsOf)) {
      const places = text.replaceAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, "").split("?").length - 1;
      expect(params, which).toHaveLength(places);
    }
  });

  test("uses no word that SQLite 3.35 does not know", () => {
    for (const [which, { text }] of statementsOf(sqlite, table).flatMap(partsOf)) {
      expect(text, which).not.toMatch(
        /\bFULL JOIN\b|\bRIGHT JOIN\b|unixepoch|->>|\bconcat\(|subsec/,
      );
    }
  });
});
