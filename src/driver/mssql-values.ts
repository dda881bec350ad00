import { isObject } from "../options.ts";
import type { QueryResult } from "./connection.ts";

/** The types that parameters are sent as, as `mssql` makes them. */
export interface MssqlTypesLike {
  Bit(): object;
  Int(): object;
  BigInt(): object;
  Float(): object;
  NVarChar(length?: number): object;
  VarBinary(length?: number): object;
  DateTime2(scale?: number): object;
}

/** A parameter with its type: the server converts it from there to the column's, by its own rules. */
export interface MssqlParameter {
  readonly type: object;
  readonly value: string | number | bigint | boolean | Buffer | Date | null;
}

/** What `nvarchar` takes with a length of its own. One length for all of them: each other would be another plan. */
const LONGEST_NVARCHAR = 4000;
const MAX_INT = 2 ** 31;
const MAX_BIGINT = 2n ** 63n;

/**
 * A parameter as the driver takes it, with the type said: by itself it would send a Date as DATETIME, of 3 ms, and
 * NaN as null. Null goes as NVARCHAR, which the server takes for a column of every type but the binary ones.
 *
 * @param max what `mssql` calls MAX: the length of what has none.
 * @throws TypeError for what no type takes.
 */
export function mssqlParameter(
  types: MssqlTypesLike,
  max: number,
  value: unknown,
  position: number,
): MssqlParameter {
  switch (typeof value) {
    case "undefined":
      return { type: types.NVarChar(LONGEST_NVARCHAR), value: null };
    case "string":
      return text(types, max, value);
    case "boolean":
      return { type: types.Bit(), value };
    case "number":
      return numeric(types, value, position);
    case "bigint":
      if (value >= -MAX_BIGINT && value < MAX_BIGINT) return { type: types.BigInt(), value };
      return text(types, max, String(value));
    case "object":
      return fromObject(types, max, value, position);
    default:
      throw refused(position, `a ${typeof value}`);
  }
}

function text(types: MssqlTypesLike, max: number, value: string): MssqlParameter {
  const length = value.length > LONGEST_NVARCHAR ? max : LONGEST_NVARCHAR;
  return { type: types.NVarChar(length), value };
}

function numeric(types: MssqlTypesLike, value: number, position: number): MssqlParameter {
  if (!Number.isFinite(value)) throw refused(position, String(value));
  // Past the safe integers a number is not the digits that it shows.
  if (!Number.isSafeInteger(value)) return { type: types.Float(), value };
  if (value >= -MAX_INT && value < MAX_INT) return { type: types.Int(), value };
  return { type: types.BigInt(), value: BigInt(value) };
}

function fromObject(
  types: MssqlTypesLike,
  max: number,
  value: object | null,
  position: number,
): MssqlParameter {
  if (value === null) return { type: types.NVarChar(LONGEST_NVARCHAR), value };
  if (value instanceof Date) {
    if (!Number.isNaN(value.getTime())) return { type: types.DateTime2(7), value };
    throw refused(position, "an invalid Date");
  }
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return { type: types.VarBinary(max), value: bytes };
  }
  throw refused(position, Array.isArray(value) ? "an array" : "an object");
}

function refused(position: number, what: string): TypeError {
  return new TypeError(
    `parameter ${position} is ${what}; it takes null, a string, a finite number, a bigint, a boolean, a Date or bytes. Send JSON as text: JSON.stringify(value).`,
  );
}

/**
 * The rows of the last statement that answered any columns; where none did, what the last statement changed that
 * said how much. A trigger's own counts come before that of the statement that fired it.
 */
export function mssqlResult<Row>(answer: unknown): QueryResult<Row> {
  const { recordsets, rowsAffected } = isObject(answer) ? answer : {};
  const rows: unknown = Array.isArray(recordsets) ? recordsets.at(-1) : undefined;
  // What the rows hold is the caller's word.
  if (Array.isArray(rows)) return { rows: Array.from(rows) as Row[], rowCount: rows.length };
  const count: unknown = Array.isArray(rowsAffected) ? rowsAffected.at(-1) : undefined;
  return { rows: [], rowCount: Number(count ?? 0) };
}
