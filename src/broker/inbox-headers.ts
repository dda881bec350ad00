import { isObject } from "../options.ts";
import type { Casing } from "../table/casing.ts";
import type { Columns } from "../table/column.ts";
import { describeTable } from "../table/describe.ts";
import { describeMessage } from "../table/describe-message.ts";
import { describeEveryGroup, describeQueue } from "../table/describe-queue.ts";
import type { IsolationLevel, TableDescription, TransactionMode } from "../table/description.ts";
import type { MessageFacts, MessageTableOptions } from "../table/message-options.ts";
import { plainData, type TableData } from "../table/plain-data.ts";
import type { CheckedName } from "../table/refusals.ts";
import type { FactsOf, TableFacts, Unwritten } from "../table/table-facts.ts";
import type { TableOptions, Word } from "../table/table-options.ts";
import { DescribedQueue, type EveryGroupMaker, type QueueMaker } from "./table-queue.ts";
import { TableWriter, type WrittenTable } from "./written-table.ts";

/**
 * The queue table of a headers layout: rows are written here, and handlers take the messages that
 * `inboxMessage` makes of them. Columns without a role are headers, under their columns' names.
 */
export interface InboxHeaders<Facts extends TableFacts = TableFacts> extends WrittenTable<Facts> {
  /** Types only: what makes it a headers table. */
  readonly $headers: Facts;
}

/** A message of a headers layout: the columns of its queue table that a handler takes. */
export interface InboxMessage<Facts extends TableFacts = TableFacts> {
  /** Types only: what a handler takes. */
  readonly $row: Facts["row"];
  /** Types only: what the table can do. */
  readonly $table: Facts;
  readonly description: TableDescription;
  /** A queue of the table: with a group column `queue(group)`, without one `queue({ name })`. */
  readonly queue: QueueMaker<Facts>;
  /** All groups of a fifo table at once, each in order. */
  readonly everyGroup: EveryGroupMaker<Facts>;
  /** The description as JSON can hold it. */
  describe(): TableData;
}

/**
 * Describes the queue table of a headers layout; its options are those of `inboxTable`.
 *
 * @throws TableError with every rule that is broken, a line a rule.
 * @example
 * const Events = inboxHeaders("events", {
 *   columns: { id: c.bigint().id().generated(), topic: c.text().group(), traceId: c.text("trace_id") },
 * });
 * const Signup = inboxMessage({ headers: Events, columns: { email: c.text() } });
 * broker.subscribe(Signup.queue("signups"), async (signup, { headers }) => {});
 */
export function inboxHeaders<
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
): InboxHeaders<FactsOf<C, Lock, Isolation, Mode, Custom>>;
export function inboxHeaders(name: unknown, options: unknown): DescribedHeaders {
  return new DescribedHeaders(describeTable(name, options));
}

/**
 * Describes what a handler takes of a headers table: columns that are read from it by their names, or by
 * a `fetch` of the service's own. Several messages may share one headers table.
 *
 * @throws TableError with every rule that is broken, a line a rule.
 */
export function inboxMessage<
  Headers,
  C extends Columns,
  const Recased extends Word<Casing> = never,
  Events extends string = never,
  Custom = Unwritten,
>(
  options: MessageTableOptions<Headers, C, Recased, Events, Custom>,
): InboxMessage<
  MessageFacts<
    Headers extends { readonly $headers: infer F extends TableFacts } ? F : never,
    C,
    Custom
  >
>;
export function inboxMessage(options: unknown): DescribedMessage {
  const given = isObject(options) ? options : {};
  const headers = isHeaders(given.headers) ? given.headers.description : undefined;
  return new DescribedMessage(describeMessage(headers, given));
}

/** By name, so that a service which loads the library twice, as ESM and as CommonJS, may mix them. */
const HEADERS: unique symbol = Symbol.for("intray.headers");

class DescribedHeaders extends TableWriter {
  declare readonly $headers: never;
  readonly [HEADERS] = true;
}

function isHeaders(value: unknown): value is { readonly description: TableDescription } {
  return isObject(value) && HEADERS in value;
}

class DescribedMessage {
  declare readonly $row: never;
  declare readonly $table: never;
  readonly description: TableDescription;

  constructor(description: TableDescription) {
    this.description = description;
  }

  queue(...given: unknown[]): DescribedQueue {
    return new DescribedQueue(describeQueue(this.description, given));
  }

  everyGroup(options?: unknown): DescribedQueue {
    return new DescribedQueue(describeEveryGroup(this.description, options));
  }

  describe(): TableData {
    return plainData(this.description);
  }
}
