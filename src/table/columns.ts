import { hasMethods, shown } from "../options.ts";
import type { Column, CustomCodec } from "./column.ts";
import { ColumnDraft } from "./column-draft.ts";
import type { ColumnCodec, ColumnType } from "./description.ts";

type Name = string | undefined;

/** One column type for each kind of value; the argument names the column in the database. */
export interface ColumnTypes {
  /** A 16-bit integer, a `number`. */
  smallint<const N extends Name = undefined>(name?: N): Plain<"smallint", number, N>;
  /** A 32-bit integer, a `number`. */
  integer<const N extends Name = undefined>(name?: N): Plain<"integer", number, N>;
  /** A 64-bit integer, a `bigint`: never a digit is lost. */
  bigint<const N extends Name = undefined>(name?: N): Plain<"bigint", bigint, N>;
  text<const N extends Name = undefined>(name?: N): Plain<"text", string, N>;
  /** A `Uint8Array`, byte for byte. */
  bytes<const N extends Name = undefined>(name?: N): Plain<"bytes", Uint8Array, N>;
  /** Whatever JSON holds, as `c.json<{ to: string }>()` says; nothing checks it. */
  json<T = unknown>(name?: string): Plain<"json", T, Name>;
  boolean<const N extends Name = undefined>(name?: N): Plain<"boolean", boolean, N>;
  /** A `Date`: milliseconds, whatever more the column holds. */
  timestamp<const N extends Name = undefined>(name?: N): Plain<"timestamp", Date, N>;
  /** A `string` of the usual form. */
  uuid<const N extends Name = undefined>(name?: N): Plain<"uuid", string, N>;
  /** A `string`, since a number would lose digits. */
  decimal<const N extends Name = undefined>(name?: N): Plain<"decimal", string, N>;
  /**
   * A column of any other type, with its own way to a value and back.
   *
   * @example
   * const jobs = { area: c.custom<Box>("area", { decode: parseBox, encode: String }) };
   */
  custom<T>(codec: CustomCodec<T>): Plain<"custom", T, undefined>;
  custom<T>(name: string, codec: CustomCodec<T>): Plain<"custom", T, Name>;
}

type Plain<Type extends ColumnType, Value, N extends Name> = Column<
  Type,
  Value,
  "none",
  "never",
  N
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
