/** A described table as CREATE TABLE, and its indexes. Each statement may run again. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { literal, quoted } from "./sql.ts";
import { claimIndexes } from "./table-indexes.ts";
import { isWhole } from "./table-insert.ts";
import { tableName } from "./table-names.ts";
import { types } from "./types.ts";

export function tableDdl(table: TableDescription): readonly string[] {
  const columns = table.columns.map((column) => `  ${columnDdl(column, table)}`);
  const { id } = table.roles;
  const key = id === undefined ? [] : [`  PRIMARY KEY (${quoted(id.name)})`];
  const create = `IF OBJECT_ID(${literal(tableName(table))}, N'U') IS NULL
CREATE TABLE ${tableName(table)} (
${[...columns, ...key].join(",\n")}
)`;
  return [create, ...claimIndexes(table).map(({ ddl }) => ddl)];
}

function columnDdl(column: ColumnDescription, table: TableDescription): string {
  const { generated, name, nullable, role, type } = column;
  const parts = [quoted(name), typeOf(column)];
  if (role === "id" && isWhole(type) && generated !== "never") parts.push("IDENTITY(1, 1)");
  parts.push(role !== "id" && nullable ? "NULL" : "NOT NULL");
  const filled = filling(column, table);
  if (filled !== undefined) parts.push(`DEFAULT ${filled}`);
  return parts.join(" ");
}

/**
 * Text that an index holds is as long as a key may be. It is compared by its code units, so that two names are
 * one only where they are the same, whatever the collation of the database.
 */
function typeOf({ role, type }: ColumnDescription): string {
  const isShort = type === "text" && role !== undefined && role !== "payload";
  return isShort ? "nvarchar(255) COLLATE Latin1_General_BIN2" : types[type].ddl;
}

/** What the database fills a column with that an insert leaves out. */
function filling(
  { generated, nullable, role, type }: ColumnDescription,
  { attemptFrom }: TableDescription,
): string | undefined {
  if (role === "attempt") return String(attemptFrom);
  if (generated === "never" || (role === "id" && isWhole(type))) return undefined;
  if (role === "id") return type === "text" ? "LOWER(CONVERT(nvarchar(36), NEWID()))" : "NEWID()";
  // Null is a default too, and the one that says "due" and "held by nobody".
  return nullable ? undefined : DEFAULTS[type];
}

const DEFAULTS: Readonly<Record<ColumnDescription["type"], string | undefined>> = {
  smallint: "0",
  integer: "0",
  bigint: "0",
  decimal: "0",
  text: "N''",
  bytes: "0x",
  json: "N'{}'",
  boolean: "0",
  timestamp: "SYSUTCDATETIME()",
  uuid: "NEWID()",
  custom: undefined,
};
