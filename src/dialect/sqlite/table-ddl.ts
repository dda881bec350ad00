/** A described table as CREATE TABLE, and its indexes. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { instant, quoted } from "./sql.ts";
import { tableIndexes } from "./table-indexes.ts";
import { tableName } from "./table-names.ts";
import { types } from "./types.ts";

/** The statements, one each, in order; all can run again on what is there already. */
export function tableDdl(table: TableDescription): readonly string[] {
  return [createTable(table), ...tableIndexes(table).map(({ ddl }) => ddl)];
}

function createTable(table: TableDescription): string {
  const columns = table.columns.map((column) => `  ${columnDdl(column, table)}`).join(",\n");
  return `CREATE TABLE IF NOT EXISTS ${tableName(table)} (
${columns}
)`;
}

function columnDdl(column: ColumnDescription, table: TableDescription): string {
  const { generated, name, nullable, role, type } = column;
  const parts = [quoted(name), types[type].ddl];
  if (role === "id") {
    parts.push(isWhole(type) ? "PRIMARY KEY" : "PRIMARY KEY NOT NULL");
    // Without it the id of a row that is gone is given again, and people take it for the old one.
    if (isWhole(type) && generated !== "never") parts.push("AUTOINCREMENT");
  } else if (!nullable) parts.push("NOT NULL");
  const filled = filling(column, table);
  if (filled !== undefined) parts.push(`DEFAULT ${filled}`);
  return parts.join(" ");
}

function isWhole(type: ColumnDescription["type"]): boolean {
  return type === "bigint" || type === "integer" || type === "smallint";
}

/** What the database fills a column with that an insert leaves out. */
function filling(
  { generated, nullable, role, type }: ColumnDescription,
  { attemptFrom }: TableDescription,
): string | undefined {
  if (role === "attempt") return String(attemptFrom);
  if (generated === "never" || (role === "id" && isWhole(type))) return undefined;
  if (role === "id") return UUID;
  // Null is a default too, and the one that says "due" and "held by nobody".
  return nullable ? undefined : DEFAULTS[type];
}

/** A random UUID (version 4); SQLite makes none by itself. */
const UUID =
  "(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))";

const DEFAULTS: Readonly<Record<ColumnDescription["type"], string | undefined>> = {
  smallint: "0",
  integer: "0",
  bigint: "0",
  decimal: "'0'",
  text: "''",
  bytes: "x''",
  json: "'{}'",
  boolean: "0",
  timestamp: `(${instant})`,
  uuid: UUID,
  custom: undefined,
};
