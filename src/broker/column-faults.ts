import { SchemaError } from "../errors.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";

/** A row of the dialect's `inspection.columns`. */
export interface InspectedColumn {
  readonly name: string;
  readonly precision: unknown;
  readonly fault?: unknown;
}

/** The rows of that statement, whoever has asked it. */
export function inspectedColumns(
  rows: readonly Readonly<Record<string, unknown>>[],
): readonly InspectedColumn[] {
  return rows.map(({ fault, name, precision }) => ({ name: String(name), precision, fault }));
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
