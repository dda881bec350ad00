import type { Casing, casings } from "./casing.ts";
import type { AnyColumn, Columns } from "./column.ts";
import type { EventConnection, OneOrEach, RawRow } from "./custom-events.ts";
import type { Listed } from "./option-words.ts";
import type { ColumnFault } from "./refusals.ts";
import type { Sentence } from "./sentences.ts";
import type { Has, RowOf, TableFacts, WrittenFor } from "./table-facts.ts";
import type { KnownCasing } from "./table-options.ts";

/** The options of `inboxMessage`. */
export interface MessageTableOptions<
  Headers,
  C extends Columns,
  Recased extends string,
  Events extends string,
  Custom,
> {
  /** The queue table that the messages stand in, made by `inboxHeaders`. */
  readonly headers: Headers extends { readonly $headers: TableFacts }
    ? Headers
    : Sentence<"notHeaders">;
  /** What a handler takes, each column read from the queue table by its name. */
  readonly columns: CheckedMessage<C, KnownCasing<Recased>>;
  /** How properties become columns' names where the builder names none. Default: as they stand. */
  readonly casing?: Recased extends Casing
    ? Recased
    : Sentence<"casing", { casings: Listed<typeof casings> }>;
  /** A `fetch` of the service's own, that may join other tables. */
  readonly custom?: CheckedMessageEvents<Events, Headers> & Custom;
  readonly schema?: Sentence<"messageOption", { option: "schema" }>;
  readonly advisoryLock?: Sentence<"messageOption", { option: "advisoryLock" }>;
  readonly isolation?: Sentence<"messageOption", { option: "isolation" }>;
  readonly mode?: Sentence<"messageOption", { option: "mode" }>;
  readonly clock?: Sentence<"messageOption", { option: "clock" }>;
}

type CheckedMessage<C extends Columns, Recased extends Casing | undefined> =
  Verdict<C, Recased> extends "broken"
    ? {
        readonly [P in keyof C]: [MessageFault<C, P, Recased>] extends [never]
          ? C[P]
          : MessageFault<C, P, Recased>;
      }
    : C;

type Verdict<C extends Columns, Recased extends Casing | undefined> = [
  { [P in keyof C]: MessageFault<C, P, Recased> }[keyof C],
] extends [never]
  ? "whole"
  : "broken";

type MessageFault<C extends Columns, P extends keyof C, Recased extends Casing | undefined> = [
  RoleFault<C[P]>,
] extends [never]
  ? ColumnFault<C, P, Recased>
  : RoleFault<C[P]>;

type RoleFault<Of extends AnyColumn> = Of["$column"]["part"] extends infer As extends string
  ? As extends "none" | "id" | "payload"
    ? never
    : Sentence<"messageRole", { role: As extends "fifoGroup" ? "group" : As }>
  : never;

type CheckedMessageEvents<Events extends string, Headers> = {
  readonly [Name in Events]: Name extends "fetch"
    ? OneOrEach<
        (conn: EventConnection, ids: readonly IdOf<Headers>[]) => Promise<readonly RawRow[]>
      >
    : Sentence<"messageEvent", { event: Name & string }>;
};

type IdOf<Headers> = Headers extends { readonly $headers: infer Facts extends TableFacts }
  ? Facts["id"]
  : unknown;

/** What the types know of a message: the headers table's facts, and its own row. */
export interface MessageFacts<Headers extends TableFacts, C extends Columns, Custom>
  extends TableFacts {
  readonly form: Headers["form"];
  readonly row: RowOf<C>;
  /** Rows are written by the headers table. */
  readonly insert: never;
  readonly input: never;
  readonly id: Headers["id"];
  readonly group: Headers["group"];
  readonly has: Omit<Headers["has"], "payload"> & { readonly payload: Has<C, "payload"> };
  readonly fifo: Headers["fifo"];
  readonly isolation: Headers["isolation"];
  readonly mode: Headers["mode"];
  readonly custom: Headers["custom"] | WrittenFor<Custom>;
}
