/**
 * The SQL of described tables on MySQL and MariaDB, as it is sent. It stands in table-sql-mysql/*.sql, so that a
 * change shows in review: `npx vitest run --project unit -u` writes the files anew.
 */
import { describe, expect, test } from "vitest";
import { mysql } from "../../src/dialect/mysql/mysql.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import { sqlTables, statementsOf } from "../support/table-sql.ts";

/** A statement's own text, or each of those that its program runs. */
function texts([which, statement]: readonly [string, Statement]): string[] {
  const { program } = statement;
  if (program !== undefined) {
    return program.parts.flatMap((part, at) => texts([`${which}, ${at + 1}`, part]));
  }
  return [`-- ${which}: ${statement.params.join(", ")}\n${statement.text};\n`];
}

describe.each(Object.entries(sqlTables))("%s", (name, table) => {
  const statements = statementsOf(mysql, table).sort(([a], [b]) => (a < b ? -1 : 1));

  test("has these statements", async () => {
    await expect(statements.flatMap(texts).join("\n")).toMatchFileSnapshot(
      `table-sql-mysql/${name}.sql`,
    );
  });

  test("has this DDL", async () => {
    const text = mysql.ddl(table).map((each) => `${each};\n`);
    await expect(text.join("\n")).toMatchFileSnapshot(`table-sql-mysql/${name}-ddl.sql`);
  });

  test("uses no word that only one of the two servers knows, and locks by the primary key alone", () => {
    const all = statements.flatMap(texts).join("\n");
    expect(all).not.toMatch(/\bRETURNING\b|\bLATERAL\b|\bFOR SHARE\b|FOR UPDATE OF|JSON_VALUE/);
    for (const text of statements.flatMap(texts)) {
      if (/FOR UPDATE/.test(text)) expect(text).toContain("FORCE INDEX (PRIMARY)");
    }
  });
});
