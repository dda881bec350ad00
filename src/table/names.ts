import { type ColumnDescription, type TableDescription, tableLabel } from "./description.ts";
import { sentence } from "./sentences.ts";
import { tableError } from "./table-error.ts";

/** Longest name of a database, and what its length counts. */
export interface LongestName {
  readonly length: number;
  readonly unit: "bytes" | "characters";
}

/** What a dialect says of names. */
interface LongestNames {
  readonly longestName: LongestName;
}

/** What is wrong with a name in every database; undefined: nothing. */
export function nameFault(what: "table" | "schema" | "column", name: string): string | undefined {
  if (name === "") return sentence("nameEmpty", { what });
  if (name.includes("\0")) return sentence("nameNul", { what });
  if (what !== "column" && name.includes(".")) return sentence("nameDot", { what });
  return undefined;
}

/** Which names of the table are too long for a database, a sentence each, with their counts. */
export function longNames(
  table: TableDescription,
  longest: LongestName,
  database: string,
): string[] {
  const columns: readonly ColumnDescription[] = [
    ...table.columns,
    ...(table.message?.columns ?? []),
  ];
  return [
    longName("table", table.name, longest, database),
    table.schema === undefined ? undefined : longName("schema", table.schema, longest, database),
    ...new Set(columns.map(({ name }) => longName("column", name, longest, database))),
  ].filter((fault) => fault !== undefined);
}

/** A name's length against a database's longest; undefined where it fits. */
export function longName(
  what: string,
  name: string,
  { length, unit }: LongestName,
  database: string,
): string | undefined {
  const count = unit === "bytes" ? Buffer.byteLength(name) : [...name].length;
  if (count <= length) return undefined;
  return `the ${what} "${name}" has ${count} ${unit}, and a name in ${database} has ${length} at most`;
}

/**
 * Refuses a table whose names a database cannot hold, all of them at once.
 *
 * @throws TableError
 */
export function checkNames(
  table: TableDescription,
  { features, name }: { readonly name: string; readonly features: LongestNames },
): void {
  const faults = longNames(table, features.longestName, name);
  if (faults.length > 0) throw tableError(tableLabel(table), faults);
}
