import type { Clock } from "../clock.ts";
import type { ClaimedRow, Dialect } from "../dialect/dialect.ts";
import type { ConnectionSource } from "../driver/connection.ts";
import type { Delivery } from "../engine/delivery.ts";
import { LeaseExpiredError } from "../errors.ts";
import type { HandlerFacade } from "../form/handler-transaction.ts";
import type { Reacted, Reaction, Verdict } from "../form/reaction.ts";
import type { Log } from "../log.ts";
import { drop, type Outcome, retry, retryAfter } from "../outcome.ts";
import { type RetryDelays, retryDelay } from "../retry.ts";
import type { QueueDescription } from "../table/queue.ts";
import { orAbort } from "../time-limit.ts";
import { outcomesOf } from "./answers.ts";
import { DeliveryContext, handlerLog, type Reply } from "./context.ts";
import { type HandlerCommit, watchCommit } from "./handler-transactions.ts";
import { decide, type FailurePolicy } from "./policies.ts";
import type { RowReader } from "./row-reader.ts";

/**
 * What a subscription makes of claimed rows:
 *
 *     row --attempts spent-------------------------------> dead letter
 *      |----does not decode--> onFailure.decode ---------> verdict
 *      \----message--> handler --returned--> its outcome -> verdict
 *                         \-- threw -------> onFailure.throw -> verdict
 *
 * A row that cannot be read costs itself alone: those beside it in a batch go to the handler.
 */
export class SubscriptionReaction implements Reaction {
  readonly #settings: ReactionSettings;
  readonly #items = new WeakMap<ClaimedRow, Item>();
  readonly #commits = new WeakMap<ClaimedRow, HandlerCommit>();
  #hasWarnedOfDelay = false;

  constructor(settings: ReactionSettings) {
    this.#settings = settings;
  }

  async react(
    rows: readonly ClaimedRow[],
    delivery: Delivery,
    transaction: HandlerFacade | undefined,
  ): Promise<Reacted> {
    const items = await Promise.all(rows.map((row) => this.#read(row, delivery, transaction)));
    const ready = items.filter((item) => item.verdict === undefined);
    const threw = ready.length === 0 || (await this.#handle(ready, delivery, transaction));
    return { verdicts: items.map(({ verdict }) => verdict ?? RETRY), threw };
  }

  failed(rows: readonly ClaimedRow[], error: unknown): Promise<readonly Verdict[]> {
    return Promise.all(
      rows.map(async (row) => {
        const item = this.#items.get(row);
        return item === undefined ? RETRY : await this.#thrown(item, error);
      }),
    );
  }

  /** The database said so: what waits for the commit of the handler's transaction goes out. */
  settled(row: ClaimedRow, verdict: Verdict): void {
    if (verdict.kind === "ack") this.#commits.get(row)?.committed();
  }

  async #read(
    row: ClaimedRow,
    delivery: Delivery,
    transaction: HandlerFacade | undefined,
  ): Promise<Item> {
    const { fields, log, maxAttempts, queue, reader, reply } = this.#settings;
    let failure: { readonly error: unknown } | undefined;
    const attempt = reader.attempt(row);
    const context = new DeliveryContext({
      id: attemptTo(() => reader.id(row)) ?? row.id,
      queue: queue.name,
      group: row.group ?? undefined,
      attempt,
      key: row.key ?? undefined,
      signal: delivery.signal,
      headers:
        attemptTo(
          () => reader.headers(row),
          (error) => {
            failure = { error };
          },
        ) ?? {},
      tx: transaction,
      reply: reply?.(transaction),
      log,
      fields,
    });
    const item: Item = { row, context, message: undefined, verdict: undefined };
    this.#items.set(row, item);
    if (maxAttempts !== undefined && attempt !== undefined && attempt > maxAttempts) {
      const reason = new LeaseExpiredError(
        `all ${maxAttempts} attempts of ${row.id} are spent, the last without a word of its worker: it died or stalled`,
      );
      item.verdict = { kind: "deadLetter", reason };
      return item;
    }
    try {
      if (failure !== undefined) throw failure.error;
      const message = reader.message(row);
      // A schema's validation is the service's own code, and may never answer.
      item.message = message instanceof Promise ? await orAbort(message, delivery.signal) : message;
    } catch (error) {
      if (delivery.signal.aborted) item.verdict = RETRY;
      else await this.#undecoded(item, error);
    }
    return item;
  }

  async #undecoded(item: Item, error: unknown): Promise<void> {
    const { failing, fields, log, onFailure } = this.#settings;
    const outcome = await this.#decide(onFailure.decode, drop, item, error);
    const verdict = this.#verdict(item, outcome, error);
    item.verdict = verdict;
    if (verdict.kind === "retry") failing.failed(item.row.id);
    log.error("a row could not be read into a message", {
      event: "decode_failed",
      ...fields,
      id: item.row.id,
      attempt: item.context.attempt,
      verdict: verdict.kind,
      error,
    });
  }

  /** Gives each item its verdict; true where the handler threw. */
  async #handle(
    items: readonly Item[],
    delivery: Delivery,
    transaction: HandlerFacade | undefined,
  ): Promise<boolean> {
    if (transaction !== undefined) {
      const commit = watchCommit(transaction, this.#settings.dialect, this.#settings.source);
      for (const { row } of items) this.#commits.set(row, commit);
    }
    try {
      const answer = await this.#call(items, delivery, transaction);
      const refusal = (outcome: Outcome) => this.#refusal(outcome);
      const outcomes = outcomesOf(answer, items.length, this.#settings.isBatch, refusal);
      for (const [index, item] of items.entries()) {
        item.verdict = this.#verdict(item, outcomes[index] ?? ACK, undefined);
        if (item.verdict.kind === "retry") this.#settings.failing.askedAgain(item.row.id);
      }
      return false;
    } catch (error) {
      if (delivery.signal.aborted) return true;
      await Promise.all(
        items.map(async (item) => {
          item.verdict = await this.#thrown(item, error);
        }),
      );
      return true;
    }
  }

  #call(
    items: readonly Item[],
    delivery: Delivery,
    transaction: HandlerFacade | undefined,
  ): unknown {
    const { fields, handler, isBatch, log, queue, reply } = this.#settings;
    const [first] = items;
    if (!isBatch && first !== undefined) return handler(first.message, first.context);
    return handler(
      items.map(({ message }) => message),
      {
        deliveries: items.map(({ context }) => context),
        queue: queue.name,
        signal: delivery.signal,
        log: handlerLog(log, fields),
        ...(transaction !== undefined && { tx: transaction }),
        ...(reply !== undefined && { reply: reply(transaction) }),
      },
    );
  }

  /** What the throw policy says; without one, later and later. */
  async #thrown(item: Item, error: unknown): Promise<Verdict> {
    const { failing, hasDue, onFailure, queue, retryDelays } = this.#settings;
    const failures = item.context.attempt ?? failing.count(item.row.id) + 1;
    const later = () => retryAfter(retryDelay(failures - 1, retryDelays));
    // In a fifo group a due time would move the row behind others; strict ones keep their order.
    const again = hasDue && queue.table.fifo !== "fifo" ? later : retry;
    const verdict = this.#verdict(
      item,
      await this.#decide(onFailure.throw, again, item, error),
      error,
    );
    if (verdict.kind === "retry") failing.failed(item.row.id);
    return verdict;
  }

  #decide(
    policy: FailurePolicy | undefined,
    fallback: () => Outcome,
    item: Item,
    error: unknown,
  ): Promise<Outcome> {
    const refusal = (outcome: Outcome) => this.#refusal(outcome);
    return decide(policy, fallback, error, item.context, refusal, this.#settings);
  }

  /** Why an outcome cannot be carried out here. */
  #refusal(outcome: Outcome): string | undefined {
    if (outcome.outcome !== "deadLetter" || this.#settings.hasDeadLetter) return undefined;
    return `deadLetter() takes a subscription with the option deadLetter, which names the queue or table that rows of ${this.#settings.queue.name} go to`;
  }

  #verdict(item: Item, outcome: Outcome, error: unknown): Verdict {
    switch (outcome.outcome) {
      case "ack":
      case "drop":
        return { kind: outcome.outcome, reason: error };
      case "deadLetter":
        return { kind: "deadLetter", reason: outcome.reason ?? error };
      case "retry":
        return this.#capped(item, error) ?? { kind: "retry", reason: error };
      case "retryAfter":
        return this.#capped(item, error) ?? this.#delayed(outcome.delayMs, error);
    }
  }

  #capped({ context, row }: Item, error: unknown): Verdict | undefined {
    const { maxAttempts } = this.#settings;
    const { attempt } = context;
    if (maxAttempts === undefined || attempt === undefined || attempt < maxAttempts) {
      return undefined;
    }
    const reason =
      error ?? `${row.id} was to be tried again after ${attempt} of ${maxAttempts} attempts`;
    return { kind: "deadLetter", reason };
  }

  #delayed(delayMs: number, error: unknown): Verdict {
    const { fields, hasDue, log } = this.#settings;
    if (hasDue) return { kind: "retryAfter", delayMs, reason: error };
    if (!this.#hasWarnedOfDelay) {
      log.warn(
        "the table has no column for a due time: a row that is to come again later comes at once. Add a column with the role retryAfter, or return retry()",
        { event: "retry_without_delay", ...fields },
      );
    }
    this.#hasWarnedOfDelay = true;
    return { kind: "retry", reason: error };
  }
}

/** A handler as the reaction calls it: its types are the subscription's promise. */
export type AnyHandler = (messages: unknown, context: unknown) => unknown;

export interface ReactionSettings {
  readonly queue: QueueDescription;
  /** Whose connections the handlers' transactions are on. */
  readonly source: ConnectionSource;
  readonly dialect: Dialect;
  readonly reader: RowReader;
  readonly handler: AnyHandler;
  readonly isBatch: boolean;
  readonly onFailure: {
    readonly throw?: FailurePolicy | undefined;
    readonly decode?: FailurePolicy | undefined;
  };
  readonly retryDelays: RetryDelays;
  readonly maxAttempts?: number | undefined;
  readonly hasDeadLetter: boolean;
  /** The table has a column for a due time. */
  readonly hasDue: boolean;
  /** What keeps rows that come again at once from being a hot loop. */
  readonly failing: {
    failed(id: string): void;
    askedAgain(id: string): void;
    /** How often the row came again so in this process. */
    count(id: string): number;
  };
  /** Writes replies through the handler's transaction, or by themselves. */
  readonly reply?: ((transaction: HandlerFacade | undefined) => Reply) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly fields: Record<string, unknown>;
  /** How long a policy may take, in milliseconds. */
  readonly limitMs: number;
}

interface Item {
  readonly row: ClaimedRow;
  readonly context: DeliveryContext;
  message: unknown;
  /** Left open while the handler is to decide. */
  verdict: Verdict | undefined;
}

const ACK: Outcome = { outcome: "ack" };
const RETRY: Verdict = { kind: "retry" };

function attemptTo<T>(run: () => T, failed: (error: unknown) => void = () => {}): T | undefined {
  try {
    return run();
  } catch (error) {
    failed(error);
    return undefined;
  }
}
