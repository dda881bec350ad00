/** Writing rows: one statement for many. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { InsertSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { milliseconds, quoted } from "./sql.ts";
import { TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** Parameters r0c0, r0c1... r1c0...; answers `id` a row, in the rows' order. */
export function insertStatement(
  table: TableDescription,
  columns: readonly ColumnDescription[],
  rows: number,
  { dueInMs = false }: InsertSettings = {},
): Statement {
  const sql = new TableSql(table);
  const { id, retryAfter } = table.roles;
  const cell = (column: ColumnDescription, placeholder: string) =>
    dueInMs && column === retryAfter
      ? `${sql.clock} + ${milliseconds(placeholder)}`
      : types[column.type].write(placeholder);
  const values = Array.from({ length: rows }, (_, r) =>
    columns.length === 0
      ? "(DEFAULT)"
      : `(${columns.map((column, c) => cell(column, sql.param(`r${r}c${c}`))).join(", ")})`,
  );
  // A row of nothing but defaults names one column all the same: many such rows have no other spelling.
  const names = columns.length === 0 ? [sql.id] : columns.map(({ name }) => quoted(name));
  const answer = id === undefined ? "" : `\nRETURNING ${types[id.type].read(`${sql.id}`)} AS id`;
  return sql.statement(`INSERT INTO ${sql.name} (${names.join(", ")})
VALUES ${values.join(",\n  ")}${answer}`);
}
