import type { Clock } from "../clock.ts";
import type { DialectErrors } from "../dialect/errors.ts";
import { checkOut, giveBack } from "../driver/checkout.ts";
import type {
  Connection,
  ConnectionSource,
  QueryResult,
  StatementStep,
  Step,
} from "../driver/connection.ts";
import type { Delivery } from "../engine/delivery.ts";
import { asError, LeaseLostError } from "../errors.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import { type Action, runActions } from "./actions.ts";
import { type Ended, lastWait, untilEnded } from "./handler-end.ts";
import { type HandlerFacade, HandlerTransaction } from "./handler-transaction.ts";
import { type Refusal, whatRefused } from "./refusal.ts";

/**
 * One delivery through its handler, in a transaction of its own: the connection, the handler, the
 * completion, the commit.
 *
 *     connection --> handler --returned--> complete + commit --answered--> completed
 *         |             |                        |-- refused ------------> failed, redelivery
 *         |             |                        \-- no answer ----------> unknown
 *         |             |-- returned, and nothing is to commit: rollback -> declined
 *         |             |-- threw --> rollback --------------------------> failed
 *         |             |-- signal aborted --> rollback -----------------> interrupted
 *         |             \-- signal aborted, and it does not end ---------> left behind
 *         |-- the worker stops ------------------------------------------> unstarted
 *         \-- none to be had --------------------------------------------> unavailable
 *
 * What follows from it (policy, retry, dead letter) is the caller's. When this resolves, the connection
 * is back in its pool, or destroyed if there is any doubt about it.
 */
export async function handleInTransaction<T>(
  settings: HandlingSettings,
  delivery: Delivery,
  task: HandlingTask<T>,
  stop: AbortSignal,
): Promise<Handling<T>> {
  const { clock, patienceMs, source } = settings;
  const limit = timeLimit(clock, patienceMs, "there was no connection for the handler", stop);
  let connection: Connection;
  try {
    connection = await orAbort(checkOut(source, limit.signal), delivery.signal, giveBackLate);
  } catch (error) {
    if (delivery.signal.aborted) return { result: "interrupted" };
    return stop.aborted ? { result: "unstarted" } : { result: "unavailable", error };
  } finally {
    limit.cancel();
  }
  if (stop.aborted) {
    await giveBack(connection);
    return { result: "unstarted" };
  }
  const patience = lastWait(clock, delivery.signal);
  const attempt = new TransactionAttempt(settings, delivery, task, connection, patience.signal);
  try {
    return await attempt.run();
  } finally {
    patience.cancel();
    await giveBack(connection, attempt.doubt);
  }
}

function giveBackLate(connection: Connection): void {
  void giveBack(connection);
}

export interface HandlingSettings {
  readonly source: ConnectionSource;
  readonly errors: DialectErrors;
  readonly placeholder: (position: number) => string;
  readonly begin: Step;
  /** See {@link HandlerTransaction}. */
  readonly identify?: StatementStep | undefined;
  /** See the dialects' `mark`. */
  readonly mark?: { readonly set: string; readonly check: string } | undefined;
  /** The handler's statements come again and again, and are worth preparing. */
  readonly prepare: boolean;
  readonly clock: Clock;
  /** How long a connection, or the answer to a rollback, is waited for, in milliseconds. */
  readonly patienceMs: number;
}

/** What is to happen in the transaction. */
export interface HandlingTask<T> {
  /** Statements before the handler; without them BEGIN waits for the handler's first query. */
  first?(): Promise<readonly Step[]>;
  /** The transaction is open, and what came first in it succeeded. */
  opened?(): void;
  /** Runs the handler. What it throws fails the delivery. */
  run(transaction: HandlerFacade): Promise<T>;
  /** What commits together with the handler's writes; undefined where they are to be rolled back. */
  completion(answer: T): Promise<readonly Action[] | undefined>;
}

/** How a handling ended; see {@link handleInTransaction}. */
export type Handling<T> =
  | {
      readonly result: "completed";
      readonly answer: T;
      /** What the completion's actions answered, in their order. */
      readonly results: readonly QueryResult[];
    }
  | { readonly result: "declined"; readonly answer: T }
  | { readonly result: "interrupted" | "left behind" | "unstarted" }
  | { readonly result: "failed" | "redelivery" | "unavailable"; readonly error: unknown }
  | {
      readonly result: "unknown";
      readonly answer: T;
      readonly error: unknown;
      /** The transaction's own id, where it is known. */
      readonly id: string | undefined;
    };

class TransactionAttempt<T> {
  readonly #settings: HandlingSettings;
  readonly #delivery: Delivery;
  readonly #task: HandlingTask<T>;
  readonly #connection: Connection;
  readonly #patience: AbortSignal;
  readonly #transaction: HandlerTransaction;
  /** Why the connection must not go back to its pool. */
  doubt: Error | undefined;

  constructor(
    settings: HandlingSettings,
    delivery: Delivery,
    task: HandlingTask<T>,
    connection: Connection,
    patience: AbortSignal,
  ) {
    this.#settings = settings;
    this.#delivery = delivery;
    this.#task = task;
    this.#connection = connection;
    this.#patience = patience;
    const mark = markStep(settings.mark);
    this.#transaction = new HandlerTransaction(connection, { ...settings, mark });
  }

  async run(): Promise<Handling<T>> {
    const refusal = await this.#open();
    if (refusal !== undefined) return refusal;
    const ended = await runInTransaction(
      this.#transaction,
      this.#delivery,
      this.#patience,
      (facade) => this.#task.run(facade),
    );
    switch (ended.ended) {
      case "returned":
        return await this.#complete(ended.answer);
      case "threw":
        return await this.#rolledBack({ result: "failed", error: ended.error });
      case "interrupted":
        return await this.#rolledBack({ result: "interrupted" });
      case "left behind":
        this.doubt = asError(ended.reason);
        return { result: "left behind" };
    }
  }

  /** Answers how it ended, where the transaction cannot be opened; most open with the first query. */
  async #open(): Promise<Handling<T> | undefined> {
    try {
      const first = (await this.#task.first?.()) ?? [];
      const opening =
        first.length > 0
          ? this.#transaction.openWith(first)
          : this.#transaction.openForBareClient();
      await orAbort(opening, this.#patience);
      this.#task.opened?.();
      return undefined;
    } catch (error) {
      const refusal = whatRefused(this.#settings.errors, error, undefined);
      if (refusal.kind === "lost" || refusal.kind === "redelivery") {
        return await this.#refused(refusal);
      }
      this.doubt = asError(error);
      return { result: "unavailable", error };
    }
  }

  async #complete(answer: T): Promise<Handling<T>> {
    let actions: readonly Action[] | undefined;
    try {
      actions = await orAbort(this.#task.completion(answer), this.#patience);
    } catch (error) {
      return await this.#rolledBack({ result: "failed", error });
    }
    if (actions === undefined) return await this.#rolledBack({ result: "declined", answer });
    const { unseenFailure } = this.#transaction;
    if (unseenFailure !== undefined) {
      return await this.#rolledBack({ result: "failed", error: unseenFailure });
    }
    const { rolledBackBy } = this.#transaction;
    if (rolledBackBy !== undefined) {
      return await this.#refused(whatRefused(this.#settings.errors, rolledBackBy, undefined));
    }
    const isOpen = this.#transaction.isOpen;
    const before = isOpen ? checkSteps(this.#settings.mark) : this.#transaction.openingSteps();
    const all: Action[] = [...before, ...actions, { kind: "commit" }];
    try {
      const results = await orAbort(runActions(this.#connection, all), this.#patience);
      return { result: "completed", answer, results: results.slice(before.length, -1) };
    } catch (error) {
      const refusal = whatRefused(this.#settings.errors, error, this.#transaction.firstFailure);
      if (refusal.kind !== "unknown") return await this.#refused(refusal);
      this.doubt = asError(error);
      return { result: "unknown", answer, error, id: this.#transaction.id };
    }
  }

  /** The completion or the commit came back with an error that says what became of it: nothing. */
  async #refused(refusal: Refusal): Promise<Handling<T>> {
    const { error } = refusal;
    if (refusal.kind !== "lost") {
      const result = refusal.kind === "redelivery" ? "redelivery" : "failed";
      return await this.#rolledBack({ result, error });
    }
    this.#delivery.lose(
      new LeaseLostError(
        `${this.#delivery.id} was not this worker's any more when it was to be completed. Where the event loop was blocked for longer than leaseMs, no renewal could go out: give such work a longer lease, or a thread.`,
      ),
    );
    return await this.#rolledBack({ result: "interrupted" });
  }

  /** Rolls back; where that fails the connection is in doubt, and the first result stands. */
  async #rolledBack(handling: Handling<T>): Promise<Handling<T>> {
    if (!this.#transaction.isOpen) return handling;
    const { clock, patienceMs } = this.#settings;
    const limit = timeLimit(clock, patienceMs, "the rollback was not answered", this.#patience);
    try {
      await orAbort(this.#connection.rollback(), limit.signal);
    } catch (error) {
      this.doubt = asError(error);
    } finally {
      limit.cancel();
    }
    return handling;
  }
}

type Mark = HandlingSettings["mark"];

export function markStep(mark: Mark): StatementStep | undefined {
  return mark === undefined ? undefined : { kind: "query", text: mark.set };
}

/** Fails where the transaction that was opened is not the one that is open. */
export function checkSteps(mark: Mark): readonly StatementStep[] {
  return mark === undefined ? [] : [{ kind: "query", text: mark.check }];
}

/**
 * Runs a handler on a transaction, to the end of all its queries. When the delivery's signal aborts,
 * nothing more of them runs.
 */
export async function runInTransaction<T>(
  transaction: HandlerTransaction,
  delivery: Delivery,
  patience: AbortSignal,
  run: (facade: HandlerFacade) => Promise<T>,
): Promise<Ended<T>> {
  const { signal } = delivery;
  const cut = () => transaction.cut(asError(signal.reason));
  signal.addEventListener("abort", cut, { once: true });
  const running = async () => {
    try {
      return await run(transaction.facade);
    } finally {
      transaction.end();
      await transaction.settled();
    }
  };
  const ended = await untilEnded(running(), signal, patience);
  signal.removeEventListener("abort", cut);
  if (ended.ended === "left behind") transaction.cut(asError(ended.reason));
  return ended;
}
