import type { ColumnCodec, ColumnType, Role } from "./description.ts";
import type { roleTypes, Sentence } from "./sentences.ts";

/** What a column does, as its type carries it: a role, a group in order, or nothing. */
export type Part = Role | "fifoGroup" | "none";

/** Who fills a column that an insert leaves out: nobody, the database, or the database always. */
export type Filled = "never" | "byDefault" | "always";

/** What the types know of a column. */
export interface ColumnFacts {
  readonly type: ColumnType;
  readonly value: unknown;
  readonly part: Part;
  readonly filled: Filled;
  readonly name: string | undefined;
}

/** Any column, for generic code: a factory takes `<C extends Columns>(columns: C)`. */
export interface AnyColumn {
  /** Types only: there is no such value. */
  readonly $column: ColumnFacts;
}

/** The columns of a table by their properties. */
export type Columns = Readonly<Record<string, AnyColumn>>;

/** Options of a role that takes none: what stands here by mistake gets its sentence. */
export interface NoRoleOptions {
  readonly fifo?: Sentence<"fifoElsewhere">;
}

/**
 * A column of a table, made by `c`. It is immutable: each method answers another one.
 *
 * A method that does not go with what the column is already is there all the same, and calling it is an
 * error that says why.
 */
export interface Column<
  Type extends ColumnType,
  Value,
  As extends Part = "none",
  By extends Filled = "never",
  Name extends string | undefined = undefined,
> extends AnyColumn {
  /** Types only: there is no such value. */
  readonly $column: {
    readonly type: Type;
    readonly value: Value;
    readonly part: As;
    readonly filled: By;
    readonly name: Name;
  };

  /** The column can be NULL: `null` in its type, and optional in an insert. */
  nullable(
    this: As extends "id" ? Sentence<"idNull"> : unknown,
  ): Column<Type, Value | null, As, By, Name>;

  /**
   * The database fills the column where an insert leaves it out: a default, an identity, a trigger.
   * Optional in an insert; a delay and a settlement still write it.
   */
  generated(this: Ungenerated<By>): Column<Type, Value, As, "byDefault", Name>;

  /** The database alone writes the column: no part of an insert. */
  generatedAlways(this: Ungenerated<By>): Column<Type, Value, As, "always", Name>;

  /** The row's id: its place in the order, and how settlements find it. Each table has one. */
  id(
    this: NotNull<Value, Playing<"id", Type, As>>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "id", By, Name>;

  /**
   * Which queue a row belongs to. With `fifo: true` a group has one row in work at a time, in order;
   * `"strict"`: by priority and id alone, so that a delayed row holds all behind it.
   */
  group<const Fifo extends boolean | "strict" = false>(
    this: Playing<"group", Type, As>,
    options?: { readonly fifo?: Fifo },
  ): Column<Type, Value, Fifo extends false ? "group" : "fifoGroup", By, Name>;

  /** Rows of one key are worked in order within a subscription that has `workersByKey`. */
  partitionKey(
    this: Playing<"partitionKey", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "partitionKey", By, Name>;

  /** Rows of a smaller value are claimed first, null last. */
  priority(
    this: Playing<"priority", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "priority", By, Name>;

  /** From when on a row may be claimed; null: at once. Retries with a delay write it. */
  retryAfter(
    this: Playing<"retryAfter", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "retryAfter", By, Name>;

  /**
   * Which delivery of the row this is. The column's default in the database is 1; with `from: 0` it is 0.
   * A handler sees 1 on the first delivery either way.
   */
  attempt(
    this: Playing<"attempt", Type, As>,
    options?: NoRoleOptions & { readonly from?: 0 | 1 },
  ): Column<Type, Value, "attempt", By, Name>;

  /** The end of the lease that holds a claimed row: the table is of the lease form. Can be null always. */
  lockedUntil(
    this: Playing<"lockedUntil", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value | null, "lockedUntil", By, Name>;

  /** When the row was done. Without such a column a row that is done is deleted. Can be null always. */
  processedAt(
    this: Playing<"processedAt", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value | null, "processedAt", By, Name>;

  /** The message's headers: a JSON object of strings. */
  headers(
    this: Playing<"headers", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "headers", By, Name>;

  /** The message. Without such a column the message is the row. */
  payload(
    this: Playing<"payload", Type, As>,
    options?: NoRoleOptions,
  ): Column<Type, Value, "payload", By, Name>;
}

/** The role behind a part. */
export type RoleOf<As extends Part> = As extends "fifoGroup" ? "group" : Exclude<As, "none">;

/** Of the id: a sentence about its type comes first. */
type NotNull<Value, Otherwise> = Otherwise extends string
  ? Otherwise
  : null extends Value
    ? Sentence<"idNull">
    : Otherwise;

type Ungenerated<By extends Filled> = By extends "never" ? unknown : Sentence<"generatedTwice">;

/** What `this` must be for a role: anything, or a sentence that no column is. */
type Playing<Asked extends Role, Type extends ColumnType, As extends Part> = [As] extends ["none"]
  ? Type extends Playable[Asked]
    ? unknown
    : Sentence<"roleType", { type: Type; role: Asked; types: (typeof roleTypes)[Asked] }>
  : Sentence<"twoRoles", { role: RoleOf<As> }>;

/** Which column types can play each role. */
export type Playable = { readonly [role in Role]: (typeof playable)[role][number] };

export const playable = {
  id: ["smallint", "integer", "bigint", "text", "uuid", "decimal"],
  group: ["smallint", "integer", "bigint", "text", "uuid"],
  partitionKey: [
    "smallint",
    "integer",
    "bigint",
    "text",
    "uuid",
    "decimal",
    "boolean",
    "timestamp",
  ],
  priority: ["smallint", "integer", "bigint"],
  retryAfter: ["timestamp"],
  attempt: ["smallint", "integer", "bigint"],
  lockedUntil: ["timestamp"],
  processedAt: ["timestamp"],
  headers: ["json"],
  payload: ["bytes", "text", "json"],
} as const;

/** How a column of `c.custom` becomes a value and back. */
export interface CustomCodec<Value> extends ColumnCodec {
  /** Gets what the driver gives for the column; never null. */
  decode(raw: unknown): Value;
  /** Answers what the driver takes for the column. */
  encode(value: Value): unknown;
}
