import { checkKnownKeys } from "../options.ts";
import { describeEveryGroup, describeQueue } from "../table/describe-queue.ts";
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

type Made<Facts extends TableFacts, Payload> = TableQueue<
  MessageOf<Facts, Payload>,
  InputOf<Facts, Payload>,
  Facts
>;

/** The method `queue` of a table: with groups the first argument names one. */
export type QueueMaker<Facts extends TableFacts> = Facts["has"]["group"] extends true
  ? <Payload extends PayloadOption<Facts> = never>(
      group: Facts["group"],
      options?: GroupQueueOptions<Payload>,
    ) => Made<Facts, Payload>
  : <Payload extends PayloadOption<Facts> = never>(
      options?: PlainQueueOptions<Payload>,
    ) => Made<Facts, Payload>;

/** The method `everyGroup`, of tables whose groups are in order. */
export type EveryGroupMaker<Facts extends TableFacts> = Facts["fifo"] extends true
  ? <Payload extends PayloadOption<Facts> = never>(
      options?: GroupQueueOptions<Payload>,
    ) => Made<Facts, Payload>
  : (this: Sentence<"everyGroup">) => never;

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

  private constructor({ name, table, groups, group, payload }: QueueDescription) {
    this.name = name;
    this.table = table;
    this.groups = groups;
    if (group !== undefined) this.group = group;
    if (payload !== undefined) this.payload = payload;
    Object.freeze(this);
  }

  static of(table: TableDescription, given: readonly unknown[]): DescribedQueue {
    return new DescribedQueue(describeQueue(table, given));
  }

  static ofEveryGroup(table: TableDescription, options: unknown): DescribedQueue {
    return new DescribedQueue(describeEveryGroup(table, options));
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
