import { SchemaError } from "../errors.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";

/** A row of the dialect's `inspection.columns`. */
export interface InspectedColumn {
  readonly name: string;
  readonly precision: unknown;
  readonly fault?: unknown;
}

/** What keeps a session from working with one of these columns; undefined where nothing does. */
export function columnFault(
  table: TableDescription,
  found: readonly InspectedColumn[],
  wanted: readonly string[],
): SchemaError | undefined {
  const faulty = found.find(
    ({ fault, name }) => typeof fault === "string" && wanted.includes(name),
  );
  if (faulty === undefined) return undefined;
  return new SchemaError(
    `the table ${tableLabel(table)}: its column ${faulty.name} ${String(faulty.fault)}`,
  );
}
