import { hasMethods, shown } from "../options.ts";
import type { Column, CustomCodec } from "./column.ts";
import { ColumnDraft } from "./column-draft.ts";
import type { ColumnCodec, ColumnType } from "./description.ts";

/** A column of a type, named by the argument or by its property. */
export interface ColumnMaker<Type extends ColumnType, Value> {
  (): Plain<Type, Value, undefined>;
  <const Name extends string>(name: Name): Plain<Type, Value, Name>;
}

/** One column type for each kind of value; the argument names the column in the database. */
export interface ColumnTypes {
  /** A 16-bit integer, a `number`. */
  readonly smallint: ColumnMaker<"smallint", number>;
  /** A 32-bit integer, a `number`. */
  readonly integer: ColumnMaker<"integer", number>;
  /** A 64-bit integer, a `bigint`: never a digit is lost. */
  readonly bigint: ColumnMaker<"bigint", bigint>;
  readonly text: ColumnMaker<"text", string>;
  /** A `Uint8Array`, byte for byte. */
  readonly bytes: ColumnMaker<"bytes", Uint8Array>;
  /** Whatever JSON holds, as `c.json<{ to: string }>()` says; nothing checks it. */
  json<T = unknown>(): Plain<"json", T, undefined>;
  json<T = unknown, const Name extends string = string>(name: Name): Plain<"json", T, Name>;
  readonly boolean: ColumnMaker<"boolean", boolean>;
  /** A `Date`: milliseconds, whatever more the column holds. */
  readonly timestamp: ColumnMaker<"timestamp", Date>;
  /** A `string` of the usual form. */
  readonly uuid: ColumnMaker<"uuid", string>;
  /** A `string`, since a number would lose digits. */
  readonly decimal: ColumnMaker<"decimal", string>;
  /**
   * A column of any other type, with its own way to a value and back.
   *
   * @example
   * const jobs = { area: c.custom<Box>("area", { decode: parseBox, encode: String }) };
   */
  custom<T>(codec: CustomCodec<T>): Plain<"custom", T, undefined>;
  custom<T, const Name extends string = string>(
    name: Name,
    codec: CustomCodec<T>,
  ): Plain<"custom", T, Name>;
}

type Plain<Type extends ColumnType, Value, Name extends string | undefined> = Column<
  Type,
  Value,
  "none",
  "never",
  Name
>;

/**
 * The column types. A column is named by its argument, else by its property as the table's `casing`
 * writes it.
 *
 * @example
 * const columns = { jobId: c.bigint("job_id").id().generated(), payload: c.json<Job>().payload() };
 */
export const c: ColumnTypes = {
  smallint: (name?: string) => column("smallint", name),
  integer: (name?: string) => column("integer", name),
  bigint: (name?: string) => column("bigint", name),
  text: (name?: string) => column("text", name),
  bytes: (name?: string) => column("bytes", name),
  json: (name?: string) => column("json", name),
  boolean: (name?: string) => column("boolean", name),
  timestamp: (name?: string) => column("timestamp", name),
  uuid: (name?: string) => column("uuid", name),
  decimal: (name?: string) => column("decimal", name),
  custom: (first: unknown, second?: unknown) =>
    second === undefined && typeof first !== "string"
      ? column("custom", undefined, first)
      : column("custom", first, second),
};

function column(type: ColumnType, name: unknown, codec?: unknown): ColumnDraft {
  const faults: string[] = [];
  if (name !== undefined && typeof name !== "string") {
    faults.push(`c.${type} takes the column's name, not ${shown(name)}`);
  }
  if (type === "custom" && !isCodec(codec)) {
    faults.push(`c.custom takes { decode, encode }, two functions, not ${shown(codec)}`);
  }
  return new ColumnDraft({
    type,
    name: typeof name === "string" ? name : undefined,
    nullable: false,
    generated: "never",
    fifo: "none",
    attemptFrom: 1,
    ...(isCodec(codec) ? { codec } : {}),
    faults,
  });
}

function isCodec(value: unknown): value is ColumnCodec {
  return hasMethods(value, ["decode", "encode"]);
}
