import { dialectNamed } from "../dialect/dialects.ts";
import { checkBoolean, checkKnownKeys } from "../options.ts";
import type { Casing } from "../table/casing.ts";
import type { Columns } from "../table/column.ts";
import { describeTable } from "../table/describe.ts";
import type { IsolationLevel, TableDescription, TransactionMode } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import { plainData, type TableData } from "../table/plain-data.ts";
import type { CheckedName } from "../table/refusals.ts";
import type { FactsOf, TableFacts } from "../table/table-facts.ts";
import type { TableOptions, Word } from "../table/table-options.ts";
import type { Writable } from "./executor.ts";
import { insertRows } from "./insert.ts";
import { DescribedQueue, type EveryGroupMaker, type QueueMaker } from "./table-queue.ts";
import { type WriteTarget, writeTarget } from "./write-target.ts";

/**
 * A queue table of the service, described. Its types: `typeof EmailJobs.$row`, `typeof EmailJobs.$insert`.
 */
export interface InboxTable<Facts extends TableFacts = TableFacts> {
  /** Types only: a row. */
  readonly $row: Facts["row"];
  /** Types only: a row as an insert takes it. */
  readonly $insert: Facts["insert"];
  /** Types only: what the table can do. */
  readonly $table: Facts;
  readonly description: TableDescription;

  /**
   * A queue of the table: with a group column `queue(group, { payload })`, without one
   * `queue({ name, payload })`.
   *
   * @throws TableError for a group, a name or a payload that is none.
   */
  readonly queue: QueueMaker<Facts>;

  /** All groups of a fifo table at once, each in order. @throws TableError on a table without fifo. */
  readonly everyGroup: EveryGroupMaker<Facts>;

  /**
   * Writes rows, in one statement where they give the same columns. Answers the ids, in order.
   *
   * @param conn a connection source, a pool, a client, a handler's `tx`, or an open transaction.
   * @throws TypeError for a value that its column cannot take.
   */
  insert(
    conn: Writable,
    rows: readonly Facts["insert"][],
    options?: TableInsertOptions,
  ): Promise<readonly Facts["id"][]>;
  /** Writes a row; answers its id. */
  insert(conn: Writable, row: Facts["insert"], options?: TableInsertOptions): Promise<Facts["id"]>;

  /**
   * The CREATE TABLE and the indexes that the table's claims want, a statement each.
   *
   * @param database as its dialect is named, such as "postgres".
   */
  ddl(database: string, options?: DdlOptions): readonly string[];

  /** The description as JSON can hold it. */
  describe(): TableData;
}

/** Settings of an insert. */
export interface TableInsertOptions extends WriteTarget {
  /** Notifies listeners of other processes. Default: where a broker of this process listens. */
  readonly notify?: boolean;
}

/** Settings of `ddl`. */
export interface DdlOptions {
  /** Also the trigger that wakes listeners of rows which are written by other means. Default false. */
  readonly listenNotify?: boolean;
}

/**
 * Describes a queue table of the service. Nothing is connected and nothing is created.
 *
 * @throws TableError with every rule that is broken, a line a rule.
 * @example
 * const EmailJobs = inboxTable("email_jobs", {
 *   schema: "app",
 *   columns: {
 *     jobId: c.bigint("job_id").id().generated(),
 *     name: c.text().group(),
 *     attempt: c.smallint().attempt().generated(),
 *     payload: c.bytes().payload(),
 *   },
 * });
 */
export function inboxTable<
  const Name extends string,
  C extends Columns,
  const Recased extends Word<Casing> = never,
  const Schema extends string = never,
  const Lock extends string = never,
  const Isolation extends Word<IsolationLevel> = never,
  const Mode extends Word<TransactionMode> = never,
  Events = never,
>(
  name: CheckedName<Name, "table">,
  options: TableOptions<Name, C, Recased, Schema, Lock, Isolation, Mode, Events>,
): InboxTable<FactsOf<C, Lock, Isolation, Mode>>;
export function inboxTable(name: unknown, options: unknown): DescribedTable {
  return new DescribedTable(describeTable(name, options));
}

/** The table at run time, whatever its types. */
class DescribedTable {
  declare readonly $row: never;
  declare readonly $insert: never;
  declare readonly $table: never;
  readonly description: TableDescription;

  constructor(description: TableDescription) {
    this.description = description;
  }

  queue(...given: unknown[]): DescribedQueue {
    return DescribedQueue.of(this.description, given);
  }

  everyGroup(options?: unknown): DescribedQueue {
    return DescribedQueue.ofEveryGroup(this.description, options);
  }

  async insert(conn: unknown, given: unknown, options: unknown = {}): Promise<never> {
    const { notify, ...target } = checkKnownKeys("insert", options, ["database", "notify"]);
    const ids = await insertRows(this.description, conn, Array.isArray(given) ? given : [given], {
      dialect: writeTarget(this.description, conn, target),
      ...(notify !== undefined && { notify: checkBoolean("notify", notify) }),
    });
    // The types say what it is, and they are known where the table was described.
    return (Array.isArray(given) ? ids : ids[0]) as never;
  }

  ddl(database: string, options: DdlOptions = {}): readonly string[] {
    checkKnownKeys("ddl", options, ["listenNotify"]);
    const dialect = dialectNamed(database);
    checkNames(this.description, dialect.features.longestName, dialect.name);
    return dialect.ddl(this.description, options);
  }

  describe(): TableData {
    return plainData(this.description);
  }
}
