/** A described table as CREATE TABLE, with its indexes in it: MySQL has no CREATE INDEX IF NOT EXISTS. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { quoted } from "./sql.ts";
import { claimIndexes } from "./table-indexes.ts";
import { tableName } from "./table-names.ts";
import { types } from "./types.ts";

export function tableDdl(table: TableDescription): readonly string[] {
  const columns = table.columns.map((column) => `  ${columnDdl(column, table)}`);
  const indexes = claimIndexes(table).map(
    ({ columns: names, name }) => `  INDEX ${quoted(name)} (${names.map(quoted).join(", ")})`,
  );
  const { id } = table.roles;
  const key = id === undefined ? [] : [`  PRIMARY KEY (${quoted(id.name)})`];
  return [
    `CREATE TABLE IF NOT EXISTS ${tableName(table)} (
${[...columns, ...key, ...indexes].join(",\n")}
) ENGINE = InnoDB`,
  ];
}

function columnDdl(column: ColumnDescription, table: TableDescription): string {
  const { generated, name, nullable, role, type } = column;
  const parts = [quoted(name), typeOf(column)];
  parts.push(role !== "id" && nullable ? "NULL" : "NOT NULL");
  if (role === "id" && isWhole(type) && generated !== "never") parts.push("AUTO_INCREMENT");
  const filled = filling(column, table);
  if (filled !== undefined) parts.push(`DEFAULT ${filled}`);
  return parts.join(" ");
}

/** Text that no index holds may be longer than what one can. */
function typeOf({ role, type }: ColumnDescription): string {
  const isLong = type === "text" && (role === undefined || role === "payload");
  return isLong ? types[type].ddl.replace("VARCHAR(255)", "LONGTEXT") : types[type].ddl;
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
  if (role === "id") return "(UUID())";
  // Null is a default too, and the one that says "due" and "held by nobody".
  return nullable ? undefined : DEFAULTS[type];
}

const DEFAULTS: Readonly<Record<ColumnDescription["type"], string | undefined>> = {
  smallint: "0",
  integer: "0",
  bigint: "0",
  decimal: "0",
  text: "('')",
  bytes: "('')",
  json: "('{}')",
  boolean: "0",
  timestamp: "(UTC_TIMESTAMP(6))",
  uuid: "(UUID())",
  custom: undefined,
};
