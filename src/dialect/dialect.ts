import type { Step } from "../driver/connection.ts";
import type {
  ColumnDescription,
  ColumnType,
  FormName,
  IsolationLevel,
  TableDescription,
  TransactionMode,
} from "../table/description.ts";
import type { TableAdministration } from "./administration.ts";
import type { DialectErrors } from "./errors.ts";
import type { Statement } from "./statement.ts";

/**
 * The SQL of one database: pure functions from a table's description to statements. Nothing here does
 * I/O. A service may bring its own; a form that it does not build is refused by name.
 *
 * Conventions of every statement here:
 * - `ids`, `tokens`, `attempts`, `delaysMs`: lists of one length, each made by {@link Dialect.list};
 *   a row's three parts stand at one place. `now`: the clock's time as ISO 8601 text, taken only by
 *   statements of tables whose clock is not the database's.
 * - A claim's rows carry `id`, `token`, `attempt`, `group`, `key` (each text or null) and the columns
 *   asked for as `c0`, `c1`... in the order of {@link ClaimSettings.columns}, as
 *   {@link TypeCodec.read} reads them.
 * - Statements that take many rows lock them in one order, so that two of them cannot deadlock.
 */
export interface Dialect {
  /** As `custom` and `ddl` name it, such as "postgres". */
  readonly name: string;
  readonly features: DialectFeatures;
  readonly errors: DialectErrors;
  /** The placeholder of the parameter at this position, counted from 1. */
  placeholder(position: number): string;
  /** A quoted identifier; the name is checked already. */
  quoted(name: string): string;
  /**
   * Opens a transaction that is gone back in to its savepoints. `undefined` is the database's own default.
   */
  begin(level: IsolationLevel | TransactionMode | undefined): Extract<Step, { kind: "begin" }>;
  /** The level that is safe for the library's own statements. */
  readonly safeLevel: IsolationLevel | TransactionMode;
  /** Opens a transaction of the library's own at that level, without savepoints: an error is its end. */
  readonly beginShort: Extract<Step, { kind: "begin" }>;
  /** Two of them stand in one transaction: what is behind the handler's undoes the settlement's too. */
  savepoint(of: "handler" | "settlement"): { readonly set: string; readonly rollback: string };
  /** Makes what COMMIT would check fail before it, while the rows are still held. */
  readonly checkDeferred?: string;
  /**
   * Where statements can end a transaction unsaid, as DDL does on some databases: `set` goes right behind BEGIN,
   * and `check` fails when it comes in another transaction than that.
   */
  readonly mark?: { readonly set: string; readonly check: string };
  /** Left out where the database does not tell what became of a transaction. */
  readonly transactions?: TransactionStatements;
  /** A list of values as one parameter. */
  list(values: readonly (string | number | null)[]): unknown;
  readonly types: { readonly [type in ColumnType]: TypeCodec };

  rowLock?(table: TableDescription, settings: ClaimSettings): RowLockStatements;
  lease?(table: TableDescription, settings: LeaseSettings): LeaseStatements;
  advisoryLock?(table: TableDescription, settings: ClaimSettings): AdvisoryLockStatements;

  /**
   * Writes `rows` rows of these columns: parameters `r0c0, r0c1, ... r1c0, ...`; answers `id` a row, in
   * the rows' order, as {@link TypeCodec.read} reads it.
   */
  insert(
    table: TableDescription,
    columns: readonly ColumnDescription[],
    rows: number,
    options?: InsertSettings,
  ): Statement;
  /** Notifies listeners once; parameters `channel`, `payload`. Left out where there is no such thing. */
  notify?(): Statement;
  /** The channel on which writers to the table notify. */
  channel?(table: TableDescription): string;
  readonly inspection: TableInspection;
  /** Left out: the command line and the code for dead letters refuse tables of this dialect. */
  readonly admin?: TableAdministration;
  /** CREATE TABLE and the indexes that the claims want; with `listenNotify` also the trigger. */
  ddl(table: TableDescription, options?: { readonly listenNotify?: boolean }): readonly string[];
}

/** How a transaction is asked about whose COMMIT was not answered. */
export interface TransactionStatements {
  /** Answers `id` (text), and gives the transaction one if it has none yet. */
  readonly id: Statement;
  /** Answers `id` (text), null where the transaction has written and locked nothing. */
  readonly idIfAny: Statement;
  /** id. Answers `status`: "committed", "aborted", "in progress"; null where nobody knows any more. */
  readonly status: Statement;
}

export interface DialectFeatures {
  /**
   * A session may be set so that what it writes is stored as something else: an insert first looks for the faults that
   * {@link TableInspection.columns} tells of, once for each source and table. Default false.
   */
  readonly sessionsMayLose?: boolean;
  readonly forms: readonly FormName[];
  readonly isolations: readonly IsolationLevel[];
  /** Those that the claim of a row lock opens, and so all its transaction. Default: all of `isolations`. */
  readonly rowLockIsolations?: readonly IsolationLevel[];
  readonly modes: readonly TransactionMode[];
  readonly listenNotify: boolean;
  /**
   * Levels at which a transaction cannot change a row that has changed since it began. Claims of row
   * locks fail there when two workers meet, and handlers' transactions lock their leased rows first.
   * Default none.
   */
  readonly conflictingIsolations?: readonly IsolationLevel[];
  /** An SQL error aborts the transaction it happens in. */
  readonly errorsAbortTransactions: boolean;
  /** The most parameters of one statement. Default 65,533: they are counted in 16 bits on most wires. */
  readonly mostParameters?: number;
  /** Longest name, and what its length counts. */
  readonly longestName: { readonly length: number; readonly unit: "bytes" | "characters" };
}

/** How a column's values cross the driver, whatever parsers the application has set on it. */
export interface TypeCodec {
  /** The expression that a SELECT list reads the column by; text wherever a driver could change it. */
  read(expression: string): string;
  /** What was read as the value that TypeScript sees. Null never comes here. */
  decode(raw: unknown): unknown;
  /** A value as a parameter. Null never comes here. @throws TypeError where it is none of the type. */
  encode(value: unknown): unknown;
  /** The parameter in a statement, with the cast that makes it the type: `$1::text::jsonb`. */
  write(placeholder: string): string;
  /** The type in a CREATE TABLE. */
  readonly ddl: string;
}

export interface ClaimSettings {
  /** What each delivered row must carry beside its id, token and attempt. */
  readonly columns: readonly ColumnDescription[];
  /** `one`: parameter `group`; `every`: all groups at once; `none`: a table without groups. */
  readonly groups: "one" | "every" | "none";
  /** The most rows that a claim is asked for; a claim's parameter `limit` is at most this. */
  readonly mostRows: number;
  /** Where rows go that are given up, if anywhere. */
  readonly deadLetter?: DeadLetterSettings;
}

export interface DeadLetterSettings {
  /** The table that rows go to; the same table where it is left out, and then the group changes. */
  readonly table?: TableDescription;
  /** The column of the destination that takes the reason. */
  readonly reason?: ColumnDescription;
  /** Pairs of columns (from, to) that are copied into another table. */
  readonly copied?: readonly (readonly [ColumnDescription, ColumnDescription])[];
}

export interface InsertSettings {
  /**
   * The due column's parameters are milliseconds from the database's now (null: null), not times.
   * Default false.
   */
  readonly dueInMs?: boolean;
}

export interface LeaseSettings extends ClaimSettings {
  readonly leaseMs: number;
  /**
   * How many digits of a second the lease column holds, as {@link TableInspection.columns} tells;
   * default 6. A lease is rounded up to them.
   */
  readonly leasePrecision?: number;
}

/** A claimed row as the database answered it. */
export interface ClaimedRow {
  readonly id: string;
  /** Of the lease form: the lease's end, exactly as the database has it. */
  readonly token: string | null;
  /** The attempt column as it is now. */
  readonly attempt: string | null;
  readonly group: string | null;
  /** What rows share that wait for each other: a fifo group, a lock key; else the partition key. */
  readonly key: string | null;
  readonly [column: `c${number}`]: unknown;
}

/** Settlements of rows that the transaction, the session or nobody holds: parameters `ids` alone. */
export interface SettleStatements {
  /** ids. Marks the row processed where the table has such a column, else deletes it. */
  readonly ack: Statement;
  /** ids. The row is claimable at once. Left out where a retry writes nothing. */
  readonly retry?: Statement;
  /** ids, delaysMs. Left out on a table without a due column. */
  readonly retryAfter?: Statement;
  /** ids, reasons, group (of the destination; null where it has none). Answers `id` a moved row. */
  readonly deadLetter?: Statement;
}

/**
 * A claim of every group of a fifo table need not look at all of them: it begins with the first one behind `after`
 * (a group as text; null: with the first of all) and goes round at most once.
 */
export interface WalkStatements {
  /**
   * after. Answers `group` (text), the last one that such a claim looks at; no row where it looks at all that there
   * are. Runs outside of transactions when a claim has found nothing; waits for no lock. Left out: each claim
   * looks at all groups, whatever `after` is.
   */
  readonly walkedTo?: Statement;
}

/**
 * Row lock: the claim runs in the transaction that stays open for the handler, and so does the
 * settlement. Every settlement answers `id` for each row it settled.
 */
export interface RowLockStatements extends SettleStatements, WalkStatements {
  /** group (if one), after (if every, of fifo tables), limit. Skips locked rows. */
  readonly claim: Statement;
  /**
   * group (if one), ids. Locks those of them that can be claimed still, waiting for none, and answers as the
   * claim does, in the order of the ids. For rows that a `claim` of the service's own has named, and for those
   * whose transaction an error has ended before they were settled. Left out: there can be no such claim, and
   * such a row comes again without an attempt spent.
   */
  readonly take?: Statement;
  /**
   * Releases what the claim's session holds beside its transaction; runs when that has ended. Left out: it
   * holds nothing.
   */
  readonly unlock?: Statement;
}

/**
 * Lease: each statement commits by itself. The fence is `ids`, `tokens` and `attempts` together
 * (attempts is a list of nulls on a table without an attempt column).
 */
export interface LeaseStatements extends SettleStatements, WalkStatements {
  /** group (if one), after (if every, of fifo tables), limit, leaseMs. Writes the lease's end and counts the attempt. */
  readonly claim: Statement;
  /** Of fifo tables, after the claim's commit: ids, tokens, attempts. Answers `id` of rows to give back. */
  readonly lookAgain?: Statement;
  /**
   * ids, tokens, attempts, leaseMs. Answers for each row `id`, `outcome` (extended, locked, lost) and
   * `token`, the new one, where it was extended. Waits for no lock.
   */
  readonly extend: Statement;
  /** ids, tokens, attempts. Gives back unstarted rows, the attempt taken off again. Answers `id`. */
  readonly release: Statement;
  /** The settlements, each fenced: ids, tokens, attempts and its own. Answers `id` of rows settled. */
  readonly ack: Statement;
  readonly retry: Statement;
  readonly retryAfter?: Statement;
  readonly deadLetter?: Statement;
  /** ids, tokens, attempts. Fails its transaction (`isClaimLost`) unless it acknowledges every row. */
  readonly ackOrFail: Statement;
  /** ids, tokens, attempts. Locks the rows for a handler's transaction; fails it unless all are ours. */
  readonly lockOrFail: Statement;
  /** ids, tokens, attempts. What became of rows whose commit was not answered: `id`, `outcome`. */
  readonly readBack: Statement;
  /**
   * Of tables whose `claim` is the service's own. group (if one), ids, leaseMs. Leases those of them that
   * can be claimed still, and answers as the claim does, in the order of the ids.
   */
  readonly take?: Statement;
  /**
   * Of tables whose `extend` is the service's own. ids, tokens, attempts, leaseMs. Locks the rows that are
   * ours still, and waits for no lock; answers for each `id`, `outcome` (ours, locked, lost), and of ours
   * `held` and `until`, the lease's end as it is and as it is to be, as a timestamp column is read.
   */
  readonly extendable?: Statement;
  /** Of the same tables. ids. Answers `id` and `token` as they are now. */
  readonly tokens?: Statement;
}

/**
 * Advisory lock: the session holds the row's key from the claim to the release. Where sessions have no such
 * locks, `claim` and `unlock` are left out: then the connection's own `locks` hold the keys, between
 * `candidates` and `take`.
 */
export interface AdvisoryLockStatements extends SettleStatements {
  /**
   * group (if one), limit. Locks keys without waiting and takes what is claimable still, counting the
   * attempt; answers `lock` too, what `unlock` takes. Keys that were locked in vain are released, and
   * keys held elsewhere never hide the rows behind them.
   */
  readonly claim?: Statement;
  /** lock (text). Answers one row, `released`: whether the session held it. */
  readonly unlock?: Statement;
  /** ids. Takes the claim's attempt off again, for a row that was not started. */
  readonly release: Statement;
  /**
   * Of tables whose `lock` is the service's own, or the connection's. group (if one), limit, keys. Answers
   * `id` and `key` of the first claimable row of each key, in order, but for the keys that are named.
   */
  readonly candidates?: Statement;
  /**
   * Of the same tables. group (if one), ids, key. Takes those of them that are claimable still and have the
   * key, counting the attempt, and answers as the claim does.
   */
  readonly take?: Statement;
}

/** What a start looks at; each answers rows of the shape beside it. */
export interface TableInspection {
  /**
   * `name`, `type`, `nullable`, `generated`, `precision` (of a timestamp) a column; no rows: no table. And `fault`,
   * where there is one: in words, why a described column cannot be worked with as this session sees it.
   */
  columns(table: TableDescription): Statement;
  /** `ms` and `name` of settings that end transactions. */
  readonly timeouts: Statement;
  /**
   * `level`, the isolation level at which a transaction opens that names none. Left out: transactions of
   * such tables are handled as though it were one of `conflictingIsolations`.
   */
  readonly isolation?: Statement;
  /**
   * `session`, a text that tells the server's sessions apart. Left out: nobody looks whether a pooler shares
   * them, and the advisory lock form starts behind any.
   */
  readonly session?: Statement;
  /** `version` as a number to compare, `label` to show. */
  readonly version: Statement;
  readonly oldestVersion: { readonly version: number; readonly label: string };
  /**
   * Text, statement by statement, that has the server parse and plan a statement without running it; it
   * runs in a transaction that is rolled back. Left out: a statement is checked when it first runs.
   */
  prepare?(statement: Statement): readonly string[];
  /**
   * What an error of those texts says of the statement: the error, or one that came with it; undefined where it
   * says nothing, and the statement counts as one that was taken. Left out: every error refuses the statement.
   */
  refusal?(error: unknown): unknown;
  /** The indexes that claims want: DDL, and a statement that answers `present`. */
  indexes(
    table: TableDescription,
  ): readonly { readonly ddl: string; readonly present: Statement }[];
}
