/**
 * How values cross the driver and are stored. SQLite's columns take what they are given, and drivers differ
 * in what they make of numbers: so nearly all crosses as text, cast in the statement.
 */
import { MAX_INT32, shown } from "../../options.ts";
import type { ColumnType } from "../../table/description.ts";
import type { TypeCodec } from "../dialect.ts";

/** What a list's elements, and the parameters of a column, are cast to. */
export const sqlTypes: { readonly [type in ColumnType]: string } = {
  smallint: "INTEGER",
  integer: "INTEGER",
  bigint: "INTEGER",
  text: "TEXT",
  bytes: "BLOB",
  json: "TEXT",
  boolean: "INTEGER",
  timestamp: "TEXT",
  uuid: "TEXT",
  // Digits: as a number it would be rounded to 15 of them.
  decimal: "TEXT",
  custom: "TEXT",
};

export const types: { readonly [type in ColumnType]: TypeCodec } = {
  smallint: whole("smallint", 32_767),
  integer: whole("integer", MAX_INT32),
  bigint: asText("bigint", {
    decode: (raw) => BigInt(textOf(raw)),
    encode(value) {
      const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
      if (!isWhole || BigInt.asIntN(64, BigInt(String(value))) !== BigInt(String(value))) {
        throw takes("a bigint of 64 bits", value);
      }
      return String(value);
    },
  }),
  text: {
    ...asText("text", { decode: textOf, encode: textParameter }),
    read: exactText,
  },
  bytes: {
    read: (expression) => `CAST(${expression} AS BLOB)`,
    decode: bytesOf,
    encode(value) {
      if (!(value instanceof Uint8Array)) throw takes("bytes (a Uint8Array or Buffer)", value);
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    },
    write: (placeholder) => `CAST(${placeholder} AS BLOB)`,
    ddl: "BLOB",
  },
  json: asText("json", {
    decode: (raw) => JSON.parse(textOf(raw)),
    encode(value) {
      const text: string | undefined = JSON.stringify(value);
      if (text === undefined) throw takes("a value that JSON has", value);
      return text;
    },
  }),
  boolean: asText("boolean", {
    decode(raw) {
      const text = textOf(raw).toLowerCase();
      if (text === "1" || text === "true") return true;
      if (text === "0" || text === "false") return false;
      throw new TypeError(`the database gave ${shown(text)} for true or false`);
    },
    encode(value) {
      if (typeof value !== "boolean") throw takes("true or false", value);
      return value ? "1" : "0";
    },
  }),
  timestamp: asText("timestamp", { decode: (raw) => dateOf(textOf(raw)), encode: isoText }),
  uuid: asText("uuid", {
    decode: textOf,
    encode(value) {
      if (typeof value !== "string" || !UUID.test(value)) throw takes("a UUID", value);
      // PostgreSQL and others compare UUIDs by value; here they are text.
      return value.toLowerCase();
    },
  }),
  decimal: asText("decimal", {
    decode: textOf,
    encode(value) {
      const isNumber = typeof value === "number" || typeof value === "bigint";
      const text = isNumber ? String(value) : value;
      if (typeof text !== "string" || !DECIMAL.test(text)) {
        throw takes("a decimal number as text", value);
      }
      return text;
    },
  }),
  custom: {
    read: (expression) => expression,
    decode: (raw) => raw,
    encode: (value) => value,
    write: (placeholder) => placeholder,
    ddl: sqlTypes.custom,
  },
};

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function asText(type: ColumnType, codec: Pick<TypeCodec, "decode" | "encode">): TypeCodec {
  return {
    read: (expression) => `CAST(${expression} AS TEXT)`,
    write: (placeholder) => `CAST(${placeholder} AS ${sqlTypes[type]})`,
    ddl: sqlTypes[type],
    ...codec,
  };
}

function whole(type: ColumnType, most: number): TypeCodec {
  return asText(type, {
    decode(raw) {
      const number = Number(textOf(raw));
      if (Number.isSafeInteger(number)) return number;
      throw new TypeError(`the database gave ${shown(raw)} for a whole number`);
    },
    encode(value) {
      const fits = Number.isInteger(value) && Number(value) <= most && Number(value) >= -most - 1;
      if (!fits) throw takes(`a whole number in the range of ${type}`, value);
      return String(value);
    },
  });
}

/** Drivers may read text up to its first NUL alone: such text crosses as bytes. */
export function exactText(expression: string): string {
  return `CASE WHEN instr(${expression}, char(0)) THEN CAST(${expression} AS BLOB) ELSE CAST(${expression} AS TEXT) END`;
}

/** And may write no more of it than that, either. */
function textParameter(value: unknown): string | Buffer {
  if (typeof value !== "string") throw takes("a string", value);
  return value.includes("\0") ? Buffer.from(value) : value;
}

function textOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  if (raw instanceof Uint8Array) return Buffer.from(raw).toString();
  throw new TypeError(`the driver gave ${shown(raw)} for text`);
}

function bytesOf(raw: unknown): Buffer {
  if (raw instanceof Uint8Array) return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  throw new TypeError(`the driver gave ${shown(raw)} for bytes`);
}

/** As SQLite's functions read it; other years would not compare as text. */
function isoText(value: unknown): string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw takes("a Date", value);
  const text = value.toISOString();
  if (text.length === "2026-12-01T06:39:19.657Z".length) return text;
  throw takes("a Date of the years 0 to 9999", value);
}

/** What SQLite's own functions write (`2026-12-01 06:39:19`) is UTC too. */
function dateOf(text: string): Date {
  const [, day, time, fraction = ""] = TIME.exec(text) ?? [];
  const date = new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  if (!Number.isNaN(date.getTime())) return date;
  throw new RangeError(`the database gave ${shown(text)} for a time in UTC`);
}

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?Z?$/;

function takes(what: string, value: unknown): TypeError {
  return new TypeError(`takes ${what}, not ${shown(value)}`);
}
