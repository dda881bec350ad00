/**
 * How values cross the driver. All but bytes as text, which no setting of the application's driver changes,
 * cast on the server.
 */
import { MAX_INT32, shown } from "../../options.ts";
import type { ColumnType } from "../../table/description.ts";
import type { TypeCodec } from "../dialect.ts";
import { numberText, sqlTime, time, timeText, uuidText } from "./sql.ts";

/** The type of a variable that is compared with such a column: the column's own, so that an index serves. */
export const variableTypes: { readonly [type in ColumnType]: string } = {
  smallint: "smallint",
  integer: "int",
  bigint: "bigint",
  text: "nvarchar(4000)",
  bytes: "varbinary(max)",
  json: "nvarchar(max)",
  boolean: "bit",
  timestamp: "datetime2(7)",
  uuid: "uniqueidentifier",
  decimal: "decimal(38, 10)",
  custom: "nvarchar(max)",
};

export const types: { readonly [type in ColumnType]: TypeCodec } = {
  smallint: whole("smallint", 32_767),
  integer: whole("integer", MAX_INT32),
  bigint: {
    read: numberText,
    write: (placeholder) => `CAST(${placeholder} AS bigint)`,
    ddl: "bigint",
    decode: (raw) => BigInt(textOf(raw)),
    encode(value) {
      const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
      if (!isWhole || BigInt.asIntN(64, BigInt(String(value))) !== BigInt(String(value))) {
        throw takes("a bigint of 64 bits", value);
      }
      return String(value);
    },
  },
  text: {
    ...asText("nvarchar(max)"),
    decode: textOf,
    encode(value) {
      if (typeof value !== "string") throw takes("a string", value);
      return value;
    },
  },
  bytes: {
    read: (expression) => `CONVERT(varbinary(max), ${expression})`,
    // Null comes as nvarchar, which is no varbinary by itself.
    write: (placeholder) => `CONVERT(varbinary(max), ${placeholder})`,
    ddl: "varbinary(max)",
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
    ...asText("nvarchar(max)"),
    decode: (raw) => JSON.parse(textOf(raw)),
    encode(value) {
      const text: string | undefined = JSON.stringify(value);
      if (text === undefined) throw takes("a value that JSON has", value);
      return text;
    },
  },
  boolean: {
    read: numberText,
    write: (placeholder) => `CAST(${placeholder} AS bit)`,
    ddl: "bit",
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
    read: (expression) => timeText(utc(expression)),
    write: time,
    ddl: "datetime2(7)",
    decode: (raw) => dateOf(textOf(raw)),
    encode(value) {
      if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw takes("a Date", value);
      const text = value.toISOString();
      const isHeld = text.length === "2026-12-01T06:39:19.657Z".length && !text.startsWith("0000");
      if (isHeld) return sqlTime(text);
      throw takes("a Date of the years 1 to 9999", value);
    },
  },
  uuid: {
    read: uuidText,
    write: (placeholder) => `CAST(${placeholder} AS uniqueidentifier)`,
    ddl: "uniqueidentifier",
    decode: (raw) => textOf(raw).toLowerCase(),
    encode(value) {
      if (typeof value !== "string" || !UUID.test(value)) throw takes("a UUID", value);
      return value.toLowerCase();
    },
  },
  decimal: {
    // A decimal has 38 digits, a point, a sign and perhaps a zero before the point.
    read: (expression) => `CONVERT(varchar(41), ${expression})`,
    // As text, which becomes the column's own precision and scale: a cast would have to name one.
    write: (placeholder) => `CAST(${placeholder} AS nvarchar(4000))`,
    ddl: "decimal(38, 10)",
    decode: textOf,
    encode(value) {
      const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
      if (typeof text !== "string" || !DECIMAL.test(text)) {
        throw takes("a decimal number as text", value);
      }
      return withoutExponent(text);
    },
  },
  // As text, whatever the column is: a claim passes its rows through a table variable, whose columns have types.
  custom: {
    ...asText("nvarchar(max)"),
    decode: (raw) => raw,
    encode: (value) => value,
    write: (placeholder) => placeholder,
  },
};

/** A time in UTC, of a datetime2 (which is in UTC already) and of a datetimeoffset, as datetime2(7). */
export function utc(expression: string): string {
  return `CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), ${expression}), '+00:00'))`;
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/** No text with an exponent becomes a decimal there. */
function withoutExponent(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const moved = Number(exponent);
  if (moved === 0) return text.replace(/e.*$/i, "");
  const digits = `${"0".repeat(Math.max(0, -moved))}${whole}${fraction}${"0".repeat(Math.max(0, moved))}`;
  const point = Math.max(0, -moved) + whole.length + moved;
  const before = digits.slice(0, point).replace(/^0+/, "") || "0";
  return `${sign}${before}.${digits.slice(point) || "0"}`;
}

function asText(ddl: string): Pick<TypeCodec, "read" | "write" | "ddl"> {
  return {
    read: (expression) => `CONVERT(nvarchar(max), ${expression})`,
    write: (placeholder) => `CAST(${placeholder} AS nvarchar(max))`,
    ddl,
  };
}

function whole(type: "smallint" | "integer", most: number): TypeCodec {
  return {
    read: numberText,
    write: (placeholder) => `CAST(${placeholder} AS ${variableTypes[type]})`,
    ddl: variableTypes[type],
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
  if (typeof raw !== "string") throw new TypeError(`the driver gave ${shown(raw)} for text`);
  return raw;
}

function dateOf(text: string): Date {
  const [, seconds, fraction = ""] = TIME.exec(text) ?? [];
  const date = new Date(`${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  if (!Number.isNaN(date.getTime())) return date;
  throw new RangeError(`the database gave ${shown(text)} for a time`);
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?$/;

function takes(what: string, value: unknown): TypeError {
  return new TypeError(`takes ${what}, not ${shown(value)}`);
}
