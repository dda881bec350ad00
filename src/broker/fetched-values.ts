import { DecodeError } from "../errors.ts";
import { shown } from "../options.ts";
import type { ColumnDescription, ColumnType } from "../table/description.ts";

/*
 * What an event of the service's own has read, as its driver gave it: one driver gives a bigint as text,
 * another as a number, and a time as text or as a Date. Nothing is rounded: a number that has lost digits
 * already is refused.
 */

/** A fetched value as TypeScript sees it. @throws DecodeError naming the column. */
export function decodeFetched(column: ColumnDescription, raw: unknown): unknown {
  if (raw === null) return null;
  try {
    return column.codec === undefined ? readers[column.type](raw) : column.codec.decode(raw);
  } catch (cause) {
    throw new DecodeError(`the column ${column.name} that was fetched could not be read`, {
      cause,
    });
  }
}

/** A fetched payload as claims read it: JSON as text. */
export function fetchedPayload({ type }: ColumnDescription, raw: unknown): unknown {
  const isParsed = type === "json" && raw !== null && typeof raw !== "string";
  return isParsed ? JSON.stringify(raw) : raw;
}

const readers: { readonly [type in ColumnType]: (raw: unknown) => unknown } = {
  smallint: (raw) => Number(wholeNumber(raw)),
  integer: (raw) => Number(wholeNumber(raw)),
  bigint: wholeNumber,
  text,
  uuid: text,
  decimal: (raw) => (typeof raw === "number" || typeof raw === "bigint" ? String(raw) : text(raw)),
  bytes: (raw) => {
    if (raw instanceof Uint8Array) return raw;
    throw no("bytes", raw);
  },
  // The driver has parsed it, or it is JSON's text.
  json: (raw) => (typeof raw === "string" ? JSON.parse(raw) : raw),
  boolean: (raw) => {
    if (typeof raw === "boolean") return raw;
    const word = String(raw);
    if (word === "1" || word === "t" || word === "true") return true;
    if (word === "0" || word === "f" || word === "false") return false;
    throw no("true or false", raw);
  },
  timestamp: (raw) => {
    const time = raw instanceof Date ? raw : new Date(withZone(text(raw)));
    if (Number.isNaN(time.getTime())) throw no("a time", raw);
    return time;
  },
  custom: (raw) => raw,
};

/** A time that names no zone is UTC's, as in claims: JavaScript would take it for the host's. */
function withZone(time: string): string {
  return /^\d{4}-\d\d-\d\d[ T][\d:.]+$/.test(time) ? `${time.replace(" ", "T")}Z` : time;
}

function wholeNumber(raw: unknown): bigint {
  if (typeof raw === "bigint") return raw;
  if (typeof raw === "number" && Number.isSafeInteger(raw)) return BigInt(raw);
  if (typeof raw === "string" && /^[+-]?\d+$/.test(raw)) return BigInt(raw);
  throw no("a whole number that has all its digits", raw);
}

function text(raw: unknown): string {
  if (typeof raw === "string") return raw;
  throw no("text", raw);
}

function no(wanted: string, raw: unknown): TypeError {
  return new TypeError(`it takes ${wanted}, not ${shown(raw)}`);
}
