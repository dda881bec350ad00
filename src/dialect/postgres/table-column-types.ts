import type { ColumnType } from "../../table/description.ts";

/** The types that do for a description's, as `format_type` writes them, without what is in brackets. */
const FITTING: { readonly [type in Exclude<ColumnType, "custom">]: readonly string[] } = {
  smallint: ["smallint"],
  integer: ["integer"],
  bigint: ["bigint"],
  text: ["text", "character varying", "character", "citext", "name"],
  bytes: ["bytea"],
  json: ["jsonb", "json"],
  boolean: ["boolean"],
  timestamp: ["timestamp with time zone", "timestamp without time zone"],
  uuid: ["uuid"],
  decimal: ["numeric"],
};

/** Types that come with PostgreSQL and do for no description. */
const OTHERS: readonly string[] = ["real", "double precision", "date", "interval", "inet", "xml"];

const KNOWN: ReadonlySet<string> = new Set([...Object.values(FITTING).flat(), ...OTHERS]);

/** See {@link TableAdministration.fits}. */
export function fits(type: ColumnType, databaseType: string): boolean {
  if (type === "custom") return true;
  // numeric(10,2); time zones stand behind the brackets: timestamp(3) with time zone.
  const bare = databaseType.replace(/\([^)]*\)/, "");
  return FITTING[type].includes(bare) || (!KNOWN.has(bare) && !bare.endsWith("[]"));
}
