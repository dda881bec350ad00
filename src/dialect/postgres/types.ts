/**
 * How values cross the driver. Nearly all as text, which no parser of the application changes, cast on
 * the server. Bytes alone stay what they are: as text they would be twice as long.
 */
import { MAX_INT32, shown } from "../../options.ts";
import type { ColumnType } from "../../table/description.ts";
import type { TypeCodec } from "../dialect.ts";
import { timeText } from "./time-text.ts";

/** The type of a list of such values, and of a single one in a statement. */
export const sqlTypes: { readonly [type in ColumnType]: string } = {
  smallint: "smallint",
  integer: "integer",
  bigint: "bigint",
  text: "text",
  bytes: "bytea",
  json: "jsonb",
  boolean: "boolean",
  timestamp: "timestamptz",
  uuid: "uuid",
  decimal: "numeric",
  custom: "text",
};

export const types: { readonly [type in ColumnType]: TypeCodec } = {
  smallint: asText("smallint", {
    decode: wholeNumber,
    encode: (value) => integerText(value, 32_767, "smallint"),
  }),
  integer: asText("integer", {
    decode: wholeNumber,
    encode: (value) => integerText(value, MAX_INT32, "integer"),
  }),
  bigint: asText("bigint", { decode: (raw) => BigInt(textOf(raw)), encode: bigintText }),
  text: asText("text", { decode: textOf, encode: (value) => checkText(value, "a string") }),
  bytes: {
    read: (expression) => expression,
    decode: bytesOf,
    encode: (value) => {
      if (!(value instanceof Uint8Array)) throw takes("bytes (a Uint8Array or Buffer)", value);
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    },
    write: (placeholder) => `${placeholder}::bytea`,
    ddl: "bytea",
  },
  json: asText("json", {
    decode: (raw) => JSON.parse(textOf(raw)),
    encode: (value) => {
      const text: string | undefined = JSON.stringify(value);
      if (text === undefined) throw takes("a value that JSON has", value);
      return text;
    },
  }),
  boolean: asText("boolean", {
    decode: (raw) => {
      const text = textOf(raw);
      if (text === "true" || text === "t" || text === "1") return true;
      if (text === "false" || text === "f" || text === "0") return false;
      throw new TypeError(`the database gave ${shown(text)} for true or false`);
    },
    encode: (value) => {
      if (typeof value !== "boolean") throw takes("true or false", value);
      return String(value);
    },
  }),
  timestamp: {
    // Seconds, and not the server's text for times: that follows DateStyle and TimeZone.
    read: (expression) => `extract(epoch FROM ${expression}::timestamptz)::text`,
    decode: (raw) => dateOf(textOf(raw)),
    encode: (value) => {
      if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw takes("a Date", value);
      return timeText(value);
    },
    write: (placeholder) => `${placeholder}::text::timestamptz`,
    ddl: "timestamptz",
  },
  uuid: asText("uuid", {
    decode: textOf,
    encode: (value) => {
      const text = checkText(value, "a UUID");
      if (!UUID.test(text)) throw takes("a UUID", value);
      return text;
    },
  }),
  decimal: asText("decimal", {
    decode: textOf,
    encode: (value) => {
      const text =
        typeof value === "number" || typeof value === "bigint"
          ? String(value)
          : checkText(value, "a decimal number as text");
      if (!DECIMAL.test(text)) throw takes("a decimal number as text", value);
      return text;
    },
  }),
  custom: {
    read: (expression) => expression,
    decode: (raw) => raw,
    encode: (value) => value,
    // Untyped: the column says what it is.
    write: (placeholder) => placeholder,
    ddl: sqlTypes.custom,
  },
};

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function asText(type: ColumnType, codec: Pick<TypeCodec, "decode" | "encode">): TypeCodec {
  return {
    read: (expression) => `${expression}::text`,
    write: (placeholder) => `${placeholder}::text::${sqlTypes[type]}`,
    ddl: sqlTypes[type],
    ...codec,
  };
}

function textOf(raw: unknown): string {
  if (typeof raw !== "string") throw new TypeError(`the driver gave ${shown(raw)} for text`);
  return raw;
}

function wholeNumber(raw: unknown): number {
  const number = Number(textOf(raw));
  if (!Number.isSafeInteger(number)) {
    throw new TypeError(`the database gave ${shown(raw)} for a whole number`);
  }
  return number;
}

function integerText(value: unknown, most: number, type: string): string {
  const fits = Number.isInteger(value) && Number(value) <= most && Number(value) >= -most - 1;
  if (!fits) throw takes(`a whole number in the range of ${type}`, value);
  return String(value);
}

function bigintText(value: unknown): string {
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!isWhole || BigInt.asIntN(64, BigInt(String(value))) !== BigInt(String(value))) {
    throw takes("a bigint of 64 bits", value);
  }
  return String(value);
}

function checkText(value: unknown, what: string): string {
  if (typeof value !== "string") throw takes(what, value);
  return value;
}

function bytesOf(raw: unknown): Buffer {
  if (raw instanceof Uint8Array) return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  if (typeof raw === "string" && /^\\x([\da-f]{2})*$/i.test(raw)) {
    return Buffer.from(raw.slice(2), "hex");
  }
  throw new TypeError(`the driver gave ${shown(raw)} for bytes`);
}

/** Whole microseconds first: dividing fractions would lose a millisecond here and there. */
function dateOf(seconds: string): Date {
  const [, sign, whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(seconds) ?? [];
  const micros = BigInt(whole + fraction.slice(0, 6).padEnd(6, "0")) * (sign === "-" ? -1n : 1n);
  const millis = micros / 1000n - (micros < 0n && micros % 1000n !== 0n ? 1n : 0n);
  const date = new Date(Number(millis));
  if (whole === "" || Number.isNaN(date.getTime())) {
    throw new RangeError(`a Date cannot hold this time, in seconds since 1970: ${seconds}`);
  }
  return date;
}

function takes(what: string, value: unknown): TypeError {
  return new TypeError(`takes ${what}, not ${shown(value)}`);
}
