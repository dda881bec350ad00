/** Writing rows: one statement for many. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { InsertSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { quoted } from "./sql.ts";
import { TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/**
 * Parameters r0c0, r0c1... r1c0...; answers `id` a row, in the rows' order.
 *
 * @throws TypeError for several rows of nothing but defaults whose key is no integer: SQLite has no words for it.
 */
export function insertStatement(
  table: TableDescription,
  columns: readonly ColumnDescription[],
  rows: number,
  { dueInMs = false }: InsertSettings = {},
): Statement {
  const sql = new TableSql(table);
  const { id, retryAfter } = table.roles;
  const answer = id === undefined ? "" : `\nRETURNING ${types[id.type].read(sql.id)} AS id`;
  if (columns.length === 0) {
    return sql.statement(`INSERT INTO ${sql.name} ${defaults(sql, rows)}${answer}`);
  }
  const cell = (column: ColumnDescription, param: string) =>
    dueInMs && column === retryAfter
      ? `CASE WHEN ${param} IS NOT NULL THEN ${sql.later(param)} END`
      : types[column.type].write(param);
  const values = Array.from({ length: rows }, (_, r) => {
    const cells = columns.map((column, c) => cell(column, sql.param(`r${r}c${c}`)));
    return `(${cells.join(", ")})`;
  });
  return sql.statement(`INSERT INTO ${sql.name} (${columns.map(({ name }) => quoted(name)).join(", ")})
VALUES ${values.join(",\n  ")}${answer}`);
}

function defaults(sql: TableSql, rows: number): string {
  if (rows === 1) return "DEFAULT VALUES";
  const { id } = sql.table.roles;
  if (id?.type === "text" || id?.type === "uuid") {
    throw new TypeError(
      `${sql.table.name}: SQLite writes rows that give no column at all one by one; give a column, such as ${id.property}`,
    );
  }
  return `(${sql.id}) VALUES ${Array.from({ length: rows }, () => "(NULL)").join(", ")}`;
}
