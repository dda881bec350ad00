import type { Casing, casings } from "./casing.ts";
import type { Columns } from "./column.ts";
import type { CheckedCustom } from "./custom-events.ts";
import type { IsolationLevel, TransactionMode } from "./description.ts";
import type { isolationLevels, Listed, transactionModes } from "./option-words.ts";
import type { CheckedColumns, CheckedLock, CheckedName } from "./refusals.ts";
import type { Sentence } from "./sentences.ts";

/** A word of a list that the editor offers; any other gets its sentence. */
export type Word<Known extends string> = Known | (string & Record<never, never>);

/** Whose clock "now" is. */
export type TableClock = "database" | "system" | (() => Date);

/** The options of `inboxTable`. A type parameter an option, so that each has the sentences of its own. */
export interface TableOptions<
  Name extends string,
  C extends Columns,
  Recased extends string,
  Schema extends string,
  Lock extends string,
  Isolation extends string,
  Mode extends string,
  Events extends string,
  Custom,
> {
  /** The table's schema (MySQL: its database); left out: wherever the connection looks first. */
  readonly schema?: CheckedName<Schema, "schema">;
  /** The columns by their properties in TypeScript. What the description leaves out is left alone. */
  readonly columns: CheckedColumns<C, KnownCasing<Recased>>;
  /** How properties become columns' names where the builder names none. Default: as they stand. */
  readonly casing?: Recased extends Casing
    ? Recased
    : Sentence<"casing", { casings: Listed<typeof casings> }>;
  /**
   * The advisory lock form: rows of one key are in work one at a time. The key is text with placeholders
   * that hold properties of `columns`, such as `"jobs-{jobId}"`.
   */
  readonly advisoryLock?: CheckedLock<Lock, Name, C>;
  /** What the claim's and the handler's transactions open at. Default: the database's own. */
  readonly isolation?: [Mode] extends [never]
    ? Isolation extends IsolationLevel
      ? Isolation
      : Sentence<"isolation", { levels: Listed<typeof isolationLevels> }>
    : Sentence<"isolationAndMode">;
  /** The same for SQLite. */
  readonly mode?: Mode extends TransactionMode
    ? Mode
    : Sentence<"mode", { modes: Listed<typeof transactionModes> }>;
  /** Whose clock "now" is: the database's (the default), this host's, or a function's. */
  readonly clock?: TableClock;
  /** Events that the service writes itself: a function each, or one for each database by its name. */
  readonly custom?: CheckedCustom<Events, C, Lock> & Custom;
}

export type KnownCasing<Recased extends string> = [Recased] extends [Casing]
  ? [Recased] extends [never]
    ? undefined
    : Recased
  : undefined;
