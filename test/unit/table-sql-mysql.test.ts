/**
 * The SQL of described tables on MySQL and MariaDB, as it is sent. It stands in table-sql-mysql/*.sql, so that a
 * change shows in review: `npx vitest run --project unit -u` writes the files anew.
 */
import { describe, expect, test } from "vitest";
import { mysql } from "../../src/dialect/mysql/mysql.ts";
import { partsOf, sqlTables, statementsOf, statementsText } from "../support/table-sql.ts";

describe.each(Object.entries(sqlTables))("%s", (name, table) => {
  test("has these statements", async () => {
    await expect(statementsText(mysql, table)).toMatchFileSnapshot(`table-sql-mysql/${name}.sql`);
  });

  test("has this DDL", async () => {
    const text = mysql.ddl(table).map((each) => `${each};\n`);
    await expect(text.join("\n")).toMatchFileSnapshot(`table-sql-mysql/${name}-ddl.sql`);
  });

  test("uses no word that only one of the two servers knows, and locks by the primary key alone", () => {
    for (const [, { text }] of statementsOf(mysql, table).flatMap(partsOf)) {
      expect(text).not.toMatch(/\bRETURNING\b|\bLATERAL\b|\bFOR SHARE\b|FOR UPDATE OF|JSON_VALUE/);
      if (/FOR UPDATE/.test(text)) expect(text).toContain("FORCE INDEX (PRIMARY)");
    }
  });
});
