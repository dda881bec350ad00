import { checkKnownKeys } from "../options.ts";
import type { TableDescription } from "../table/description.ts";
import type {
  GroupQueueOptions,
  InputOf,
  MessageOf,
  PayloadOption,
  PayloadReading,
  PlainQueueOptions,
  Queue,
  QueueDescription,
} from "../table/queue.ts";
import type { Sentence } from "../table/sentences.ts";
import type { TableFacts } from "../table/table-facts.ts";
import type { Writable } from "./executor.ts";
import { insertMessages, type MessageOptions } from "./messages.ts";
import { type WriteTarget, writeTarget } from "./write-target.ts";

/** A queue that writes its messages: what a table's `queue` answers. */
export interface TableQueue<
  Message = unknown,
  Input = unknown,
  Facts extends TableFacts = TableFacts,
> extends Queue<Message, Input, Facts> {
  /**
   * Writes messages, or one; answers their rows' ids, or its row's. A list is messages, always: where a
   * message is a list itself, write a list of one.
   *
   * @param conn a connection source, a pool, a client, a handler's `tx`, or an open transaction.
   * @throws TypeError for a message that cannot be written, or an option that the table has no column for.
   */
  insert(
    conn: Writable,
    messages: readonly Input[],
    options?: QueueInsertOptions,
  ): Promise<readonly Facts["id"][]>;
  insert(conn: Writable, message: Input, options?: QueueInsertOptions): Promise<Facts["id"]>;
}

/** What goes beside messages that are written to a queue. */
export interface QueueInsertOptions extends MessageOptions, WriteTarget {}

/** Rows of a headers layout are written by its headers table: its queues write none. */
type Made<Facts extends TableFacts, Payload> = [Facts["insert"]] extends [never]
  ? Queue<MessageOf<Facts, Payload>, never, Facts>
  : TableQueue<MessageOf<Facts, Payload>, InputOf<Facts, Payload>, Facts>;

/** The method `queue` of a table: with groups the first argument names one. */
export type QueueMaker<Facts extends TableFacts> = boolean extends Facts["has"]["group"]
  ? <Payload extends PayloadOption<Facts> = never>(
      ...given: GroupArguments<Facts, Payload> | [options?: PlainQueueOptions<Payload>]
    ) => Made<Facts, Payload>
  : Facts["has"]["group"] extends true
    ? <Payload extends PayloadOption<Facts> = never>(
        ...given: GroupArguments<Facts, Payload>
      ) => Made<Facts, Payload>
    : <Payload extends PayloadOption<Facts> = never>(
        options?: PlainQueueOptions<Payload>,
      ) => Made<Facts, Payload>;

type GroupArguments<Facts extends TableFacts, Payload> = [
  group: Facts["group"],
  options?: GroupQueueOptions<Payload>,
];

/** The method `everyGroup`, of tables whose groups are in order. Messages are written to the queue of one. */
export type EveryGroupMaker<Facts extends TableFacts> = Facts["fifo"] extends false
  ? (this: Sentence<"everyGroup">) => Queue
  : <Payload extends PayloadOption<Facts> = never>(
      options?: GroupQueueOptions<Payload>,
    ) => Queue<MessageOf<Facts, Payload>, never, Facts>;

/** The queue at run time, whatever its types. */
export class DescribedQueue implements QueueDescription {
  declare readonly $message: never;
  declare readonly $input: never;
  declare readonly $table: never;
  readonly name: string;
  readonly table: TableDescription;
  readonly groups: QueueDescription["groups"];
  readonly group?: string;
  readonly payload?: PayloadReading;

  constructor({ name, table, groups, group, payload }: QueueDescription) {
    this.name = name;
    this.table = table;
    this.groups = groups;
    if (group !== undefined) this.group = group;
    if (payload !== undefined) this.payload = payload;
    Object.freeze(this);
  }

  async insert(conn: unknown, given: unknown, options: unknown = {}): Promise<never> {
    const { table } = this;
    const { database, ...beside } = checkKnownKeys("insert", options, QUEUE_INSERT);
    const ids = await insertMessages(
      this,
      conn,
      Array.isArray(given) ? given : [given],
      writeTarget(table, conn, { database }),
      beside,
    );
    // The types say what it is, and they are known where the table was described.
    return (Array.isArray(given) ? ids : ids[0]) as never;
  }
}

const QUEUE_INSERT: readonly (keyof QueueInsertOptions)[] = [
  "database",
  "headers",
  "delay",
  "priority",
  "key",
  "notify",
];
