import type { Dialect } from "../dialect/dialect.ts";
import { DecodeError } from "../errors.ts";
import { isObject } from "../options.ts";
import type { ColumnDescription } from "../table/description.ts";
import { decodeColumn } from "./column-values.ts";
import { parseJson } from "./payload.ts";

/** A delivery's headers: text by name; bytes only where a column of a headers layout holds them. */
export type Headers = Readonly<Record<string, string>>;

/** The headers of a JSON column. @throws DecodeError where it is no flat object. */
export function readHeaders(raw: unknown): Headers {
  const value = typeof raw === "string" ? parseJson("the headers are", raw) : raw;
  if (value === null || value === undefined) return {};
  if (!isObject(value) || Array.isArray(value)) {
    throw new DecodeError("the headers are no flat JSON object");
  }
  const headers: [string, string][] = [];
  for (const [name, each] of Object.entries(value)) {
    if (each === null) continue;
    if (typeof each === "object") {
      throw new DecodeError(`the headers are no flat JSON object: "${name}" is no text`);
    }
    headers.push([name, String(each)]);
  }
  return Object.fromEntries(headers);
}

/** The headers of a layout whose columns are headers under their own names. */
export function columnHeaders(
  dialect: Dialect,
  columns: readonly ColumnDescription[],
  raws: readonly unknown[],
): Headers {
  const headers: [string, string][] = [];
  for (const [index, column] of columns.entries()) {
    const value = decodeColumn(dialect, column, raws[index]);
    // Bytes are handed on as they are; the layout's own type says which header they are.
    if (value !== null) headers.push([column.name, headerValue(value) as string]);
  }
  return Object.fromEntries(headers);
}

function headerValue(value: unknown): string | Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "boolean") return value ? "1" : "0";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
