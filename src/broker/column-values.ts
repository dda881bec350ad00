import type { Dialect } from "../dialect/dialect.ts";
import { DecodeError } from "../errors.ts";
import type { ColumnDescription } from "../table/description.ts";

/** What the driver gave for a column, as TypeScript sees it. @throws DecodeError naming the column. */
export function decodeColumn(dialect: Dialect, column: ColumnDescription, raw: unknown): unknown {
  if (raw === null || raw === undefined) return null;
  try {
    return column.codec === undefined
      ? dialect.types[column.type].decode(raw)
      : column.codec.decode(raw);
  } catch (cause) {
    throw new DecodeError(`the column ${column.name} could not be read`, { cause });
  }
}

/** A value as a column's parameter. @throws TypeError naming the property. */
export function encodeColumn(dialect: Dialect, column: ColumnDescription, value: unknown): unknown {
  // What cannot be null in SQL can be in JSON.
  const isJsonNull = value === null && column.type === "json" && !column.nullable;
  if (!isJsonNull && (value === null || value === undefined)) return null;
  try {
    return column.codec === undefined
      ? dialect.types[column.type].encode(value)
      : column.codec.encode(value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "its type refused the value";
    throw new TypeError(`${column.property} (column ${column.name}): ${why}`, { cause });
  }
}
