import { LeaseKeeper } from "../engine/lease-keeper.ts";
import type { Claim, Performance, Work } from "../engine/work.ts";
import { sanitizeError } from "../error-text.ts";
import { LeaseExpiredError } from "../errors.ts";
import { Ending } from "../form/ending.ts";
import type { Handling } from "../form/transactional-handling.ts";
import type { LogLevel } from "../log.ts";
import type { LogEvent } from "../log-events.ts";
import { orAbort, timeLimit } from "../time-limit.ts";
import { asFailureAction, defaultRetryPolicy } from "./failure-action.ts";
import { InboxClaims } from "./inbox-claims.ts";
import type { InboxContext } from "./inbox-context.ts";
import type { InboxDelivery } from "./inbox-delivery.ts";
import { handle } from "./inbox-handling.ts";
import { extendLeases, releaseLeases } from "./inbox-leases.ts";
import { readBack, settleFailure } from "./inbox-settlements.ts";
import { inspectTable } from "./inbox-start.ts";
import { readMessage, unreadableMessage } from "./message.ts";
import type { InboxFailureAction, InboxHandler, InboxMessage } from "./types.ts";

/** The work of one inbox worker, as the engine drives it: claims, handling, settlement. */
export class InboxWork implements Work<InboxDelivery> {
  readonly #context: InboxContext;
  readonly #handler: InboxHandler;
  readonly #keeper: LeaseKeeper<InboxDelivery>;
  readonly #ending: Ending;
  #claims: InboxClaims | undefined;
  /** Aborts when the worker stops; until the first claim there is nothing to stop. */
  #stop: AbortSignal = new AbortController().signal;

  /** `canRenew`: there is a connection for renewals while handlers run. */
  constructor(settings: Omit<InboxContext, "ended">, handler: InboxHandler, canRenew: boolean) {
    this.#ending = new Ending(settings.source);
    const context = { ...settings, ended: this.#ending.signal };
    this.#context = context;
    this.#handler = handler;
    const { clock, leaseMs, renewIntervalMs } = context.options;
    this.#keeper = new LeaseKeeper({
      clock,
      leaseMs,
      log: context.log,
      fields: context.fields,
      everyMs: renewIntervalMs,
      extend: canRenew ? (round, signal) => extendLeases(context, round, signal) : undefined,
    });
  }

  async open(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
    const { clock, leaseMs } = this.#context.options;
    const patience = timeLimit(
      clock,
      leaseMs,
      "the database was not reached within a lease",
      signal,
    );
    const { hasAggregateIndex } = await inspectTable(this.#context, patience.signal).finally(() =>
      patience.cancel(),
    );
    this.#claims = new InboxClaims(this.#context, hasAggregateIndex);
  }

  async claim(limit: number, signal: AbortSignal): Promise<Claim<InboxDelivery>> {
    if (this.#claims === undefined) throw new Error("claim before open");
    const claim = await this.#claims.claim(limit, signal);
    this.#keeper.hold(claim.deliveries, claim.sentAt);
    return claim;
  }

  /** Nothing is kept any more: what was left behind is left to its lease. */
  async close(): Promise<void> {
    this.#keeper.stop();
    await this.#ending.end();
  }

  async giveBack(deliveries: readonly InboxDelivery[]): Promise<void> {
    for (const delivery of deliveries) this.#keeper.letGo(delivery);
    await releaseLeases(this.#context, deliveries);
  }

  async perform(delivery: InboxDelivery): Promise<Performance> {
    try {
      return await this.#perform(delivery);
    } finally {
      this.#keeper.letGo(delivery);
    }
  }

  async #perform(delivery: InboxDelivery): Promise<Performance> {
    let message: InboxMessage;
    try {
      // A schema's validation is the service's own code, and may never answer.
      const reading = readMessage(delivery.row, this.#context.options.payload);
      message = await orAbort(reading, delivery.signal);
    } catch (error) {
      if (delivery.signal.aborted) {
        await this.#interrupted(delivery, "interrupted");
        return "settled";
      }
      await this.#fail(delivery, unreadableMessage(delivery.row), error);
      return "settled";
    }
    if (await this.#isSpent(delivery, message)) return "settled";
    const handling = await handle(this.#context, delivery, message, this.#handler, this.#stop);
    return await this.#conclude(delivery, message, handling);
  }

  /**
   * Where expired leases are charged, a message whose workers die is asked about like one that fails:
   * else nobody would ever get to ask.
   */
  async #isSpent(delivery: InboxDelivery, message: InboxMessage): Promise<boolean> {
    if (delivery.charged === 0) return false;
    const failure = new LeaseExpiredError(
      `the lease of ${delivery.id} expired: its worker died or stalled before it could say why`,
    );
    const before = { ...message, attempt: message.attempt - delivery.charged };
    const action = await this.#decide(before, failure);
    if (action.retry) return false;
    await this.#settle(delivery, message, action, failure);
    return true;
  }

  async #conclude(
    delivery: InboxDelivery,
    message: InboxMessage,
    handling: Handling<void>,
  ): Promise<Performance> {
    switch (handling.result) {
      case "completed":
      case "declined":
        return "settled";
      case "unstarted":
        await this.giveBack([delivery]);
        return "settled";
      case "failed":
        await this.#fail(delivery, message, handling.error);
        return "settled";
      case "redelivery":
        this.#say(
          "warn",
          delivery,
          "redelivered",
          "the database asks to try again; no attempt is spent",
          handling.error,
        );
        await this.giveBack([delivery]);
        return "unavailable";
      case "unavailable":
        this.#say(
          "warn",
          delivery,
          "no_connection",
          "there is no connection for the handler; given back",
          handling.error,
        );
        await this.giveBack([delivery]);
        return "unavailable";
      case "unknown":
        await this.#askWhetherCommitted(delivery, message, handling.error);
        return "settled";
      case "interrupted":
      case "left behind":
        await this.#interrupted(delivery, handling.result);
        return "settled";
    }
  }

  async #interrupted(
    delivery: InboxDelivery,
    result: "interrupted" | "left behind",
  ): Promise<void> {
    if (result === "left behind" && delivery.leaveBehind()) {
      this.#say(
        "error",
        delivery,
        "handler_left_behind",
        "the handler did not end when its signal aborted; it goes on without its transaction",
      );
    }
    if (delivery.lost !== undefined) {
      this.#sayLost(delivery, delivery.lost);
      return;
    }
    const isReleased = this.#context.options.abandon === "release" && result === "interrupted";
    this.#say(
      "warn",
      delivery,
      "abandoned",
      isReleased
        ? "cut off by the shutdown; released"
        : "cut off by the shutdown; left to its lease",
    );
    if (isReleased) await this.giveBack([delivery]);
  }

  async #askWhetherCommitted(
    delivery: InboxDelivery,
    message: InboxMessage,
    error: unknown,
  ): Promise<void> {
    try {
      const answer = await readBack(this.#context, delivery);
      if (answer === "committed") {
        this.#say(
          "info",
          delivery,
          "commit_confirmed",
          "the commit was not answered; the database says that it took effect",
          error,
        );
      } else if (answer === "not committed") await this.#fail(delivery, message, error);
      else if (answer === "taken") this.#sayLost(delivery, error);
      else this.#sayUnknown(delivery, error);
    } catch (cause) {
      this.#sayUnknown(delivery, cause);
    }
  }

  #sayLost(delivery: InboxDelivery, error: unknown): void {
    this.#say(
      "warn",
      delivery,
      "lease_lost",
      "the message is not this worker's any more; nothing of it was committed",
      error,
    );
  }

  #sayUnknown(delivery: InboxDelivery, error: unknown): void {
    this.#say(
      "error",
      delivery,
      "commit_unknown",
      "the commit was not answered, and the database cannot tell any more what became of it; the row stands as it is",
      error,
    );
  }

  async #fail(delivery: InboxDelivery, message: InboxMessage, failure: unknown): Promise<void> {
    await this.#settle(delivery, message, await this.#decide(message, failure), failure);
  }

  /** What the policy says, or the default policy where it says nothing that counts. */
  async #decide(message: InboxMessage, failure: unknown): Promise<InboxFailureAction> {
    const { clock, leaseMs, retryPolicy } = this.#context.options;
    const limit = timeLimit(clock, leaseMs, "the retry policy did not answer within the lease");
    let error: unknown;
    try {
      const answer = await orAbort(Promise.resolve(retryPolicy(message, failure)), limit.signal);
      const action = asFailureAction(answer);
      if (action !== undefined) return action;
      error = new TypeError("it answered neither retryAfter(ms) nor deadLetter()");
    } catch (thrown) {
      error = thrown;
    } finally {
      limit.cancel();
    }
    this.#context.log.error("the retry policy failed; the default policy decides", {
      event: "policy_failed",
      ...this.#context.fields,
      id: message.id,
      error,
    });
    return await fallbackPolicy(message, failure);
  }

  async #settle(
    delivery: InboxDelivery,
    message: InboxMessage,
    action: InboxFailureAction,
    failure: unknown,
  ): Promise<void> {
    const { fields, log } = this.#context;
    const line = { ...fields, id: message.id, attempt: message.attempt, error: failure };
    try {
      if (!(await settleFailure(this.#context, delivery, action, failure))) {
        log.warn("the message failed, and is not this worker's any more; nothing was recorded", {
          event: "lease_lost",
          ...line,
        });
      } else if (action.retry) {
        log.warn("the message failed and comes again", {
          event: "retried",
          ...line,
          delayMs: action.delayMs,
        });
      } else log.error("the message failed and is dead", { event: "dead", ...line });
    } catch (error) {
      log.error(
        "the message failed, and that could not be recorded; it comes again when its lease ends",
        {
          event: "settlement_failed",
          ...line,
          error,
          failure: sanitizeError(failure),
        },
      );
    }
  }

  #say(
    level: LogLevel,
    delivery: InboxDelivery,
    event: LogEvent,
    text: string,
    error?: unknown,
  ): void {
    this.#context.log[level](text, { event, ...this.#context.fields, id: delivery.id, error });
  }
}

const fallbackPolicy = defaultRetryPolicy();
