import type { ColumnType } from "../../table/description.ts";

/** Types of the catalogue, without their lengths, that do for one of a description. */
const FITTING: { readonly [type in ColumnType]: readonly string[] } = {
  smallint: ["tinyint", "smallint", "int", "bigint"],
  integer: ["smallint", "int", "bigint"],
  bigint: ["int", "bigint"],
  text: ["nvarchar", "nchar", "varchar", "char", "ntext", "text", "xml"],
  bytes: ["varbinary", "binary", "image"],
  json: ["nvarchar", "varchar", "json"],
  boolean: ["bit", "tinyint", "smallint", "int"],
  timestamp: ["datetime2", "datetimeoffset", "datetime", "smalldatetime"],
  uuid: ["uniqueidentifier"],
  decimal: ["decimal", "numeric"],
  custom: [],
};

const BUILT_IN: ReadonlySet<string> = new Set([
  ...Object.values(FITTING).flat(),
  "date",
  "float",
  "geography",
  "geometry",
  "hierarchyid",
  "money",
  "real",
  "smallmoney",
  "sql_variant",
  "time",
  "timestamp",
]);

/** See {@link TableAdministration.fits}. */
export function fits(type: ColumnType, databaseType: string): boolean {
  if (type === "custom") return true;
  const name = /^[a-z]\w*/.exec(databaseType.toLowerCase())?.[0] ?? "";
  return FITTING[type].includes(name) || !BUILT_IN.has(name);
}
