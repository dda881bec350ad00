/**
 * How values cross the driver. Nearly all as text, which no setting of the application's driver changes,
 * cast on the server.
 */
import { MAX_INT32, shown } from "../../options.ts";
import type { ColumnType } from "../../table/description.ts";
import type { TypeCodec } from "../dialect.ts";
import { sqlTime } from "./sql.ts";

export const types: { readonly [type in ColumnType]: TypeCodec } = {
  smallint: whole("smallint", 32_767, "SMALLINT"),
  integer: whole("integer", MAX_INT32, "INT"),
  bigint: {
    ...asText("BIGINT"),
    // SIGNED would cut what a BIGINT UNSIGNED holds beyond it; compared with a decimal, an index serves as well.
    write: (placeholder) => `CAST(${placeholder} AS ${WHOLE_64})`,
    decode: (raw) => BigInt(textOf(raw)),
    encode(value) {
      const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
      const whole = isWhole ? BigInt(String(value)) : undefined;
      // Whether the column takes a sign is the server's to say.
      const fits =
        whole !== undefined &&
        (BigInt.asIntN(64, whole) === whole || BigInt.asUintN(64, whole) === whole);
      if (!fits) throw takes("a bigint of 64 bits", value);
      return String(value);
    },
  },
  // As it is: its length and its NULs pass, and CAST would cut it to what max_allowed_packet holds.
  text: {
    read: (expression) => expression,
    write: (placeholder) => placeholder,
    ddl: "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    decode: textOf,
    encode(value) {
      if (typeof value !== "string") throw takes("a string", value);
      return value;
    },
  },
  bytes: {
    read: (expression) => `CAST(${expression} AS BINARY)`,
    write: (placeholder) => placeholder,
    ddl: "LONGBLOB",
    decode(raw) {
      if (raw instanceof Uint8Array) {
        return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
      }
      throw new TypeError(`the driver gave ${shown(raw)} for bytes`);
    },
    encode(value) {
      if (!(value instanceof Uint8Array)) throw takes("bytes (a Uint8Array or Buffer)", value);
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    },
  },
  json: {
    ...asText("JSON"),
    decode: (raw) => JSON.parse(textOf(raw)),
    encode(value) {
      const text: string | undefined = JSON.stringify(value);
      if (text === undefined) throw takes("a value that JSON has", value);
      return text;
    },
  },
  boolean: {
    ...asText("TINYINT(1)"),
    // A BIT is bytes until it is counted with.
    read: (expression) => `CAST(${expression} + 0 AS CHAR)`,
    write: signed,
    decode(raw) {
      const text = textOf(raw);
      if (text === "1" || text === "0") return text === "1";
      throw new TypeError(`the database gave ${shown(text)} for true or false`);
    },
    encode(value) {
      if (typeof value !== "boolean") throw takes("true or false", value);
      return value ? "1" : "0";
    },
  },
  timestamp: {
    ...asText("DATETIME(6)"),
    write: (placeholder) => `CAST(${placeholder} AS DATETIME(6))`,
    decode: (raw) => dateOf(textOf(raw)),
    encode(value) {
      if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw takes("a Date", value);
      const text = value.toISOString();
      if (text.length === "2026-12-01T06:39:19.657Z".length) return sqlTime(text);
      throw takes("a Date of the years 0 to 9999", value);
    },
  },
  uuid: {
    ...asText("CHAR(36) CHARACTER SET ascii COLLATE ascii_bin"),
    decode: (raw) => textOf(raw).toLowerCase(),
    encode(value) {
      if (typeof value !== "string" || !UUID.test(value)) throw takes("a UUID", value);
      return value.toLowerCase();
    },
  },
  decimal: {
    ...asText("DECIMAL(65, 30)"),
    decode: textOf,
    encode(value) {
      const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
      if (typeof text !== "string" || !DECIMAL.test(text)) {
        throw takes("a decimal number as text", value);
      }
      return text;
    },
  },
  custom: {
    read: (expression) => expression,
    decode: (raw) => raw,
    encode: (value) => value,
    write: (placeholder) => placeholder,
    ddl: "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
  },
};

/** Holds whole numbers of 64 bits, signed or not. */
export const WHOLE_64 = "DECIMAL(20)";

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function asText(ddl: string): Pick<TypeCodec, "read" | "write" | "ddl"> {
  return {
    read: (expression) => `CAST(${expression} AS CHAR)`,
    write: (placeholder) => placeholder,
    ddl,
  };
}

/** Text beside a number would be compared as a floating point number. */
function signed(placeholder: string): string {
  return `CAST(${placeholder} AS SIGNED)`;
}

function whole(type: ColumnType, most: number, ddl: string): TypeCodec {
  return {
    ...asText(ddl),
    write: signed,
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
  };
}

function textOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  // A column of bytes, or of a binary character set.
  if (raw instanceof Uint8Array) return Buffer.from(raw).toString();
  throw new TypeError(`the driver gave ${shown(raw)} for text`);
}

function dateOf(text: string): Date {
  const [, day, clock, fraction = ""] = TIME.exec(text) ?? [];
  const date = new Date(`${day}T${clock}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  if (!Number.isNaN(date.getTime())) return date;
  throw new RangeError(`the database gave ${shown(text)} for a time`);
}

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?$/;

function takes(what: string, value: unknown): TypeError {
  return new TypeError(`takes ${what}, not ${shown(value)}`);
}
