import type { AnyColumn, Columns, Part } from "./column.ts";
import type { FormName, Role } from "./description.ts";

/** The parts that play a role. */
type PartsOf<Asked extends Role> = Asked extends "group" ? "group" | "fifoGroup" : Asked;

/** The properties whose columns play the role; never where none does. */
export type Playing<C extends Columns, Asked extends Role> = PlayingPart<C, PartsOf<Asked>>;

export type PlayingPart<C extends Columns, As extends Part> = {
  [P in keyof C]: C[P]["$column"]["part"] extends As ? P : never;
}[keyof C] &
  string;

/** A row as a handler or a fetch sees it. */
export type RowOf<C extends Columns> = { [P in keyof C]: ValueOf<C[P]> };

/** A row as an insert takes it: what the database fills, and what can be null, may be left out. */
export type InsertOf<C extends Columns> = {
  [P in keyof C as C[P]["$column"] extends Needed ? P : never]: ValueOf<C[P]>;
} & {
  [P in keyof C as C[P]["$column"] extends Needed | { readonly filled: "always" } ? never : P]?:
    | ValueOf<C[P]>
    | undefined;
} extends infer Insert
  ? { [P in keyof Insert]: Insert[P] }
  : never;

/** The same as a queue writes it whose messages are rows: the queue has the group. */
export type InputRowOf<C extends Columns> = Omit<InsertOf<C>, Playing<C, "group">> & {
  [P in Playing<C, "group"> & keyof InsertOf<C>]?: InsertOf<C>[P] | undefined;
} extends infer Input
  ? { [P in keyof Input]: Input[P] }
  : never;

/** A column that an insert must give: whatever else it is, `value` without null. */
interface Needed {
  readonly filled: "never";
  readonly value: NonNullable<unknown>;
}

export type ValueOf<Of extends AnyColumn> = Of["$column"]["value"];

/** The values of the column that plays the role, null aside; never where none does. */
export type RoleValue<C extends Columns, Asked extends Role> = NonNullable<
  ValueOf<C[Playing<C, Asked>]>
>;

/** What a group can be. */
export type GroupValue = string | number | bigint;

/** The form that a table is of. `Lock` is the text of `advisoryLock`, never where there is none. */
export type FormOf<C extends Columns, Lock extends string> = [Lock] extends [never]
  ? string extends keyof C
    ? "rowLock" | "lease"
    : [Playing<C, "lockedUntil">] extends [never]
      ? "rowLock"
      : "lease"
  : "advisoryLock";

/**
 * What the types know of a table beside its rows; `subscribe` allows and refuses by it. A table whose
 * description is generic has facts that are known where it is made.
 */
export interface TableFacts {
  readonly form: FormName;
  readonly row: unknown;
  readonly insert: unknown;
  /** A row as a queue of the table writes it. */
  readonly input: unknown;
  readonly id: unknown;
  /** The group column's values; never without one. */
  readonly group: unknown;
  /** Whether the table has a column of the role. */
  readonly has: { readonly [role in Role]: boolean };
  readonly fifo: boolean;
  /** The table's isolation level or mode; never where it has none. */
  readonly isolation: string;
  readonly mode: string;
  /** Events that are written for some databases only; never where there are none. */
  readonly custom: EventDatabases;
}

/** An event of the service's own, and the databases that it has a function for. */
export interface EventDatabases {
  readonly event: string;
  readonly databases: string;
}

/** A table without events of the service's own. */
export type Unwritten = Record<never, never>;

/** Of the option `custom`: each event that is not one function for every database. */
export type WrittenFor<Custom> = {
  [Event in keyof Custom & string]: Custom[Event] extends (...given: never) => unknown
    ? never
    : { readonly event: Event; readonly databases: keyof Custom[Event] & string };
}[keyof Custom & string];

export interface FactsOf<
  C extends Columns,
  Lock extends string,
  Isolation extends string,
  Mode extends string,
  Custom,
> extends TableFacts {
  readonly form: FormOf<C, Lock>;
  readonly row: RowOf<C>;
  readonly insert: InsertOf<C>;
  readonly input: InputRowOf<C>;
  readonly id: string extends keyof C ? unknown : RoleValue<C, "id">;
  readonly group: string extends keyof C ? GroupValue : RoleValue<C, "group">;
  readonly has: { readonly [role in Role]: Has<C, role> };
  readonly fifo: string extends keyof C
    ? boolean
    : [PlayingPart<C, "fifoGroup">] extends [never]
      ? false
      : true;
  readonly isolation: Isolation;
  readonly mode: Mode;
  readonly custom: WrittenFor<Custom>;
}

/** Whether a column plays the role; `boolean` where the columns are known at run time alone. */
export type Has<C extends Columns, Asked extends Role> = string extends keyof C
  ? boolean
  : [Playing<C, Asked>] extends [never]
    ? false
    : true;
