import type { QueryResult } from "./connection.ts";

/**
 * A parameter as both drivers take it. Numbers and times go as the application's driver sends them; the library's
 * own statements pass text.
 */
export function mysqlValue(value: unknown, position: number): unknown {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return value;
    case "bigint":
      return String(value);
    case "number":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "object":
      return objectValue(value, position);
    default:
      throw new TypeError(
        `parameter ${position} is a ${typeof value}; it takes null, a string, number, bigint, boolean, Date, bytes, an array or an object for JSON`,
      );
  }
}

function objectValue(value: object | null, position: number): unknown {
  if (value === null) return null;
  if (value instanceof Date) {
    if (!Number.isNaN(value.getTime())) return value;
    throw new TypeError(`parameter ${position} is an invalid Date`);
  }
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return JSON.stringify(value);
}

/** What a driver answers: rows, or what it did. */
export function mysqlResult<Row>(answer: unknown): QueryResult<Row> {
  // What the rows hold is the caller's word.
  if (Array.isArray(answer)) return { rows: Array.from(answer) as Row[], rowCount: answer.length };
  const affected: unknown =
    typeof answer === "object" && answer !== null ? Reflect.get(answer, "affectedRows") : undefined;
  return { rows: [], rowCount: Number(affected ?? 0) };
}
