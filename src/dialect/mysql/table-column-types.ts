import type { ColumnType } from "../../table/description.ts";

/** Types of the catalogue, in lower case and without their lengths, that do for one of a description. */
const FITTING: { readonly [type in ColumnType]: readonly string[] } = {
  smallint: ["tinyint", "smallint", "mediumint", "int", "bigint"],
  integer: ["smallint", "mediumint", "int", "bigint"],
  bigint: ["int", "bigint"],
  text: [
    "char",
    "varchar",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
    "binary",
    "varbinary",
    "enum",
    "set",
  ],
  bytes: [
    "binary",
    "varbinary",
    "tinyblob",
    "blob",
    "mediumblob",
    "longblob",
    "char",
    "varchar",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
  ],
  // MariaDB's JSON is a LONGTEXT.
  json: ["json", "longtext", "mediumtext", "text", "varchar"],
  boolean: ["tinyint", "bit", "smallint", "int"],
  // A TIMESTAMP is told in the time zone of the session, which the catalogue's query says where it is not UTC.
  timestamp: ["datetime", "timestamp"],
  uuid: ["char", "varchar", "uuid"],
  decimal: ["decimal"],
  custom: [],
};

/** See {@link TableAdministration.fits}. */
export function fits(type: ColumnType, databaseType: string): boolean {
  if (type === "custom") return true;
  if (databaseType.toLowerCase().includes(IN_SESSION_ZONE)) return false;
  const name = /^[a-z]+/.exec(databaseType.toLowerCase())?.[0] ?? "";
  return FITTING[type].includes(name);
}

/** What the catalogue's query says of a TIMESTAMP that reads as another time than UTC. */
export const IN_SESSION_ZONE = "in the time zone of the session";
