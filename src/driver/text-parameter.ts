import { timeText } from "../dialect/postgres/time-text.ts";

/**
 * Parameters as PostgreSQL's text, by the rules of `pg`, so that a parameter means the same through
 * every driver: a string is sent as it stands (JSON text is never encoded again), an array becomes an
 * array literal, any other object becomes JSON, and the server takes the type from the statement.
 */
export function textParameter(value: unknown, position: number): string | null {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    case "object":
      return objectText(value, position);
    default:
      throw new TypeError(
        `parameter $${position} is a ${typeof value}; it takes null, a string, number, bigint, boolean, Date, bytes, an array or an object for JSON`,
      );
  }
}

function objectText(value: object, position: number): string {
  if (value instanceof Date) return dateText(value, position);
  if (ArrayBuffer.isView(value)) return bytesText(value);
  if (Array.isArray(value)) return arrayText(value, position);
  return JSON.stringify(value);
}

function dateText(date: Date, position: number): string {
  if (Number.isNaN(date.getTime())) {
    throw new TypeError(`parameter $${position} is an invalid Date`);
  }
  return timeText(date);
}

function bytesText(view: ArrayBufferView): string {
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return `\\x${bytes.toString("hex")}`;
}

function arrayText(array: readonly unknown[], position: number): string {
  const elements = array.map((element) => {
    if (Array.isArray(element)) return arrayText(element, position);
    const text = textParameter(element, position);
    return text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${elements.join(",")}}`;
}
