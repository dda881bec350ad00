import type { Clock } from "../clock.ts";
import { bind } from "../dialect/bind.ts";
import { checkOut, giveBack } from "../driver/checkout.ts";
import type { Connection, Step } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import { asError, LeaseLostError, TimeoutError, TransactionError } from "../errors.ts";
import { HandlerTransaction } from "../form/handler-transaction.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import type { InboxContext } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";
import type { InboxHandler, InboxMessage } from "./types.ts";

/**
 * One message through its handler: the transaction, the handler, the completion, the commit.
 *
 *     connection --> handler --returned--> complete + commit --answered--> completed
 *         |             |                        |-- refused ------------> failed, redelivery
 *         |             |                        \-- no answer ----------> unknown
 *         |             |-- threw --> rollback --------------------------> failed
 *         |             |-- signal aborted --> rollback -----------------> interrupted
 *         |             \-- signal aborted, and it does not end ---------> left behind
 *         |-- the worker stops ------------------------------------------> unstarted
 *         \-- none to be had --------------------------------------------> unavailable
 *
 * What follows from it (policy, retry, dead letter) is the caller's. When this resolves, the connection
 * is back in its pool, or destroyed if there is any doubt about it.
 */
export async function handle(
  context: InboxContext,
  delivery: InboxDelivery,
  message: InboxMessage,
  handler: InboxHandler,
  stop: AbortSignal,
): Promise<Handling> {
  const { options, source } = context;
  const { clock, leaseMs } = options;
  const limit = timeLimit(clock, leaseMs, "there was no connection for the handler", stop);
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
  const patience = lastWait(context.options.clock, delivery.signal);
  const attempt = new HandlingAttempt(context, delivery, connection, patience.signal);
  try {
    return await attempt.run(message, handler);
  } finally {
    patience.cancel();
    await giveBack(connection, attempt.doubt);
  }
}

function giveBackLate(connection: Connection): void {
  void giveBack(connection);
}

/** How a handling ended; see {@link handle}. */
export type Handling =
  | { readonly result: "completed" | "interrupted" | "left behind" | "unstarted" }
  | {
      readonly result: "failed" | "redelivery" | "unavailable" | "unknown";
      readonly error: unknown;
    };

/** How long a handler may take to end after its signal aborted, in milliseconds. */
export const LAST_WAIT_MS = 5000;

class HandlingAttempt {
  readonly #context: InboxContext;
  readonly #delivery: InboxDelivery;
  readonly #connection: Connection;
  readonly #patience: AbortSignal;
  readonly #transaction: HandlerTransaction;
  /** Why the connection must not go back to its pool. */
  doubt: Error | undefined;

  constructor(
    context: InboxContext,
    delivery: InboxDelivery,
    connection: Connection,
    patience: AbortSignal,
  ) {
    this.#context = context;
    this.#delivery = delivery;
    this.#connection = connection;
    this.#patience = patience;
    const { begin, placeholder } = context.dialect;
    const prepare = context.options.prepareStatements;
    this.#transaction = new HandlerTransaction(connection, { begin, placeholder, prepare });
  }

  async run(message: InboxMessage, handler: InboxHandler): Promise<Handling> {
    const { signal } = this.#delivery;
    try {
      await orAbort(this.#transaction.openForBareClient(), this.#patience);
    } catch (error) {
      this.doubt = asError(error);
      return { result: "unavailable", error };
    }
    const cut = () => this.#transaction.cut(asError(signal.reason));
    signal.addEventListener("abort", cut, { once: true });
    const ending = this.#runHandler(message, handler, signal);
    try {
      const failure = await orAbort(ending, this.#patience);
      if (signal.aborted) return await this.#rolledBack({ result: "interrupted" });
      if (failure !== undefined) {
        return await this.#rolledBack({ result: "failed", error: failure.thrown });
      }
    } catch (reason) {
      cut();
      this.doubt = asError(reason);
      return { result: "left behind" };
    } finally {
      signal.removeEventListener("abort", cut);
    }
    return await this.#complete();
  }

  /** Answers what the handler threw, when it and all its queries have ended. */
  async #runHandler(
    message: InboxMessage,
    handler: InboxHandler,
    signal: AbortSignal,
  ): Promise<{ readonly thrown: unknown } | undefined> {
    let failure: { readonly thrown: unknown } | undefined;
    try {
      await handler(message, this.#transaction.facade, signal);
    } catch (thrown) {
      failure = { thrown };
    }
    this.#transaction.end();
    await this.#transaction.settled();
    return failure;
  }

  async #complete(): Promise<Handling> {
    const { statements } = this.#context;
    const { id, token } = this.#delivery;
    const steps: Step[] = [
      ...this.#transaction.openingSteps(),
      bind(statements.completeOrFail, { id, token }),
      { kind: "commit" },
    ];
    try {
      await orAbort(runSteps(this.#connection, steps), this.#patience);
      return { result: "completed" };
    } catch (error) {
      return await this.#refused(error);
    }
  }

  /** The completion or the commit came back with an error: what does it say of the transaction? */
  async #refused(error: unknown): Promise<Handling> {
    const { errors } = this.#context.dialect;
    if (errors.isClaimLost(error)) {
      this.#delivery.lose(
        new LeaseLostError(
          `${this.#delivery.id} was not this worker's any more when it was to be completed. Where the event loop was blocked for longer than leaseMs, no renewal could go out: give such work a longer lease, or a thread.`,
        ),
      );
      return await this.#rolledBack({ result: "interrupted" });
    }
    if (error instanceof TransactionError)
      return await this.#rolledBack({ result: "failed", error });
    if (this.#patience.aborted || errors.isSessionLost(error)) {
      this.doubt = asError(error);
      return { result: "unknown", error };
    }
    if (errors.isTransient(error)) return await this.#rolledBack({ result: "redelivery", error });
    if (errors.isTransactionAborted(error)) {
      const cause = this.#transaction.firstFailure;
      const explained = new TransactionError(
        "an SQL error aborted the handler's transaction, and the handler went on without it: nothing was committed. Let the error pass, or guard the statement with a savepoint.",
        { cause },
      );
      return await this.#rolledBack({ result: "failed", error: explained });
    }
    return await this.#rolledBack({ result: "failed", error });
  }

  /** Rolls back; where that fails the connection is in doubt, and the first result stands. */
  async #rolledBack(handling: Handling): Promise<Handling> {
    if (!this.#transaction.isOpen) return handling;
    const { clock, leaseMs } = this.#context.options;
    const limit = timeLimit(clock, leaseMs, "the rollback was not answered", this.#patience);
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

/** A signal that aborts when the handler has had its last wait after the delivery's signal aborted. */
function lastWait(clock: Clock, signal: AbortSignal): { signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  let cancelTimer = () => {};
  const start = () => {
    const giveUp = () =>
      controller.abort(
        new TimeoutError(`nothing ended within ${LAST_WAIT_MS} ms after the signal aborted`),
      );
    const timer = clock.setTimer(giveUp, LAST_WAIT_MS);
    cancelTimer = () => timer.cancel();
  };
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      cancelTimer();
      signal.removeEventListener("abort", start);
    },
  };
}
