import type { Casing } from "../table/casing.ts";
import type { Columns } from "../table/column.ts";
import { describeTable } from "../table/describe.ts";
import { describeEveryGroup, describeQueue } from "../table/describe-queue.ts";
import type { IsolationLevel, TransactionMode } from "../table/description.ts";
import type { CheckedName } from "../table/refusals.ts";
import type { FactsOf, TableFacts, Unwritten } from "../table/table-facts.ts";
import type { TableOptions, Word } from "../table/table-options.ts";
import { DescribedQueue, type EveryGroupMaker, type QueueMaker } from "./table-queue.ts";
import { TableWriter, type WrittenTable } from "./written-table.ts";

export type { DdlOptions, TableInsertOptions } from "./written-table.ts";

/**
 * A queue table of the service, described. Its types: `typeof EmailJobs.$row`, `typeof EmailJobs.$insert`.
 */
export interface InboxTable<Facts extends TableFacts = TableFacts> extends WrittenTable<Facts> {
  /**
   * A queue of the table: with a group column `queue(group, { payload })`, without one
   * `queue({ name, payload })`.
   *
   * @throws TableError for a group, a name or a payload that is none.
   */
  readonly queue: QueueMaker<Facts>;

  /** All groups of a fifo table at once, each in order. @throws TableError on a table without fifo. */
  readonly everyGroup: EveryGroupMaker<Facts>;
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
  Events extends string = never,
  Custom = Unwritten,
>(
  name: CheckedName<Name, "table">,
  options: TableOptions<Name, C, Recased, Schema, Lock, Isolation, Mode, Events, Custom>,
): InboxTable<FactsOf<C, Lock, Isolation, Mode, Custom>>;
export function inboxTable(name: unknown, options: unknown): DescribedTable {
  return new DescribedTable(describeTable(name, options));
}

/** The table at run time, whatever its types. */
class DescribedTable extends TableWriter {
  queue(...given: unknown[]): DescribedQueue {
    return new DescribedQueue(describeQueue(this.description, given));
  }

  everyGroup(options?: unknown): DescribedQueue {
    return new DescribedQueue(describeEveryGroup(this.description, options));
  }
}
