import type { Clock } from "../clock.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { HandlerFacade } from "../form/handler-transaction.ts";
import type { Logger } from "../log.ts";
import type { Outcome } from "../outcome.ts";
import type { RetryDelays } from "../retry.ts";
import type { TableDescription } from "../table/description.ts";
import type { Queue } from "../table/queue.ts";
import type { TableFacts } from "../table/table-facts.ts";
import type { HandlerContext, HandlerLog, Reply } from "./context.ts";
import type { DeadLetterColumns } from "./dead-letter.ts";
import type { Listening } from "./fitting.ts";
import type { FailurePolicy } from "./policies.ts";
import type { Rule } from "./rules.ts";

/** A table as a place that rows are sent to. */
export interface DescribedTable {
  readonly description: TableDescription;
}

/** The queue itself; of a name nobody knows what its messages are. */
export type QueueOf<Of extends Queue | string> = Of extends Queue ? Of : Queue;

/** What a handler answers. Nothing acknowledges. */
// Handlers that return nothing are of type void, however they are declared.
// biome-ignore lint/suspicious/noConfusingVoidType: see above.
export type Answer = Outcome | undefined | void;

/** `tx`, of transactional subscriptions alone. */
export type Transactional<Flag> = true extends Flag
  ? {
      /** The transaction that the acknowledgement commits; every other outcome rolls it back. */
      readonly tx: HandlerFacade;
    }
  : unknown;

/** `reply`, of subscriptions that have the option. */
export type Replying<ReplyQueue extends Queue | undefined> = ReplyQueue extends Queue
  ? {
      /** Writes to the queue of the option `reply`; in transactional mode as the acknowledgement commits. */
      readonly reply: Reply<ReplyQueue["$input"]>;
    }
  : unknown;

/** The context of a batch. */
export interface BatchContext<Id = unknown> {
  /** One for each message, in their order. */
  readonly deliveries: readonly HandlerContext<Id>[];
  readonly queue: string;
  /** Aborts when a row of the batch is lost, or a shutdown's grace is over. */
  readonly signal: AbortSignal;
  readonly log: HandlerLog;
}

/** Works one message, or one batch of them where the option `batch` is given. */
export type Handler<
  Of extends Queue,
  Tx extends boolean = false,
  Batch extends number | undefined = undefined,
  ReplyQueue extends Queue | undefined = undefined,
> = [Batch] extends [undefined]
  ? (
      message: Of["$message"],
      context: HandlerContext<Of["$table"]["id"]> & Transactional<Tx> & Replying<ReplyQueue>,
    ) => Answer | Promise<Answer>
  : (
      messages: readonly Of["$message"][],
      context: BatchContext<Of["$table"]["id"]> & Transactional<Tx> & Replying<ReplyQueue>,
    ) => Answer | readonly Answer[] | Promise<Answer | readonly Answer[]>;

/** Settings of one subscription; all have defaults. */
export interface SubscribeOptions<
  Facts extends TableFacts = TableFacts,
  Tx extends boolean = boolean,
  Batch extends number | undefined = number | undefined,
  To extends Queue | DescribedTable | undefined = Queue | DescribedTable,
  ReplyQueue extends Queue | undefined = Queue | undefined,
> {
  /** How it is named in statistics and log lines. Default: the queue's name. */
  readonly name?: string;
  /** Handlers side by side. Default 1. */
  readonly workers?: number;
  /**
   * Handlers side by side, where rows of one partition key are worked one at a time, in order, within this
   * subscription. Instead of `workers`; takes a table with a partition key.
   */
  readonly workersByKey?: true extends Facts["has"]["partitionKey"] ? number : Rule<"key">;
  /** Up to so many rows for one handler call. Default: one row, and no list. */
  readonly batch?: Batch;
  /** Rows claimed beyond those that run, of the lease form. Default 0; with `workersByKey` the same again. */
  readonly prefetch?: Leased<Facts>;
  /** The handler gets a transaction, `tx`, that the acknowledgement commits. Default false. */
  readonly transactional?: Tx;
  /** How long a claim holds a row between renewals, in milliseconds. Default the broker's. */
  readonly leaseMs?: Leased<Facts>;
  /** Wait after a claim that came back short, in milliseconds. Default the broker's. */
  readonly pollIntervalMs?: number;
  /** After so many attempts a row goes to the dead letter. Takes an attempt column, and `deadLetter`. */
  readonly maxAttempts?: true extends Facts["has"]["attempt"]
    ? [To] extends [undefined]
      ? Rule<"attemptsGoSomewhere">
      : number
    : Rule<"attempts">;
  /** Where given-up rows go: another queue of the table, or another table, or a queue of it. */
  readonly deadLetter?: To;
  /** Where columns go whose property the dead-letter table has not; null: they may be lost. */
  readonly deadLetterColumns?: DeadLetterColumns;
  /** What becomes of rows that fail. */
  readonly onFailure?: {
    /** The handler threw. Default: again after the exponential delay of `retry`. */
    readonly throw?: FailurePolicy;
    /** The row could not be read. Default: dropped, with an error in the log. */
    readonly decode?: FailurePolicy;
  };
  /** The delays after throws. Default from 1 s, doubled up to 5 min, a fifth of it random. */
  readonly retry?: Partial<RetryDelays>;
  /** Where the context's `reply` writes. */
  readonly reply?: ReplyQueue;
}

/** A number, where the table has a lease. */
type Leased<Facts extends TableFacts> = "lease" extends Facts["form"] ? number : Rule<"lease">;

/** Settings of a broker; all have defaults. */
export interface BrokerOptions<Database extends string = string> {
  /** Default: the source's own, where it says what is behind it. */
  readonly dialect?: Dialect & { readonly name: Database };
  /** Where log lines go. Default nowhere. */
  readonly logger?: Logger;
  /** Timers and monotonic time. Default the host's. */
  readonly clock?: Clock;
  /** Wait after a claim that came back short, in milliseconds. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How long a claim holds a row between renewals, in milliseconds. Default 30000. */
  readonly leaseMs?: number;
  /**
   * Listens for notifications of rows that other processes wrote, on a connection of its own, and notifies
   * them of rows that are written here. Default false.
   */
  readonly listenNotify?: Listening<Database>;
  /** How long handlers may go on after a stop, in milliseconds. Default 30000. */
  readonly shutdownGraceMs?: number;
  /** Prepares what handlers send through `tx` once on each connection. Default false. */
  readonly prepareStatements?: boolean;
}
