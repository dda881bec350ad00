import type { ColumnType } from "../../table/description.ts";

/**
 * What SQLite makes of a declared type: its affinity, by the rules of its documentation. A column takes any
 * value whatever its type says, and affinity alone changes what is stored.
 */
function affinityOf(declared: string): Affinity {
  const type = declared.toUpperCase();
  if (type.includes("INT")) return "integer";
  if (/CHAR|CLOB|TEXT/.test(type)) return "text";
  if (type === "" || type.includes("BLOB")) return "none";
  return /REAL|FLOA|DOUB/.test(type) ? "real" : "numeric";
}

type Affinity = "integer" | "text" | "none" | "real" | "numeric";

/** Affinities under which a stored value stays what was written. */
const FITTING: { readonly [type in ColumnType]: readonly Affinity[] } = {
  smallint: ["integer", "numeric", "none"],
  integer: ["integer", "numeric", "none"],
  bigint: ["integer", "numeric", "none"],
  boolean: ["integer", "numeric", "none"],
  text: ["text", "none"],
  json: ["text", "none"],
  uuid: ["text", "none"],
  decimal: ["text", "none"],
  // A time in text is no number, so that DATETIME, which is numeric, keeps it.
  timestamp: ["text", "none", "numeric"],
  bytes: ["none", "text", "numeric", "integer", "real"],
  custom: ["none", "text", "numeric", "integer", "real"],
};

/** See {@link TableAdministration.fits}. */
export function fits(type: ColumnType, databaseType: string): boolean {
  return FITTING[type].includes(affinityOf(databaseType));
}
