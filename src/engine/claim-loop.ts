import { type Clock, pause } from "../clock.ts";
import { jittered } from "../retry.ts";
import { Backoff } from "./backoff.ts";
import { Bell } from "./bell.ts";
import type { Delivery } from "./delivery.ts";
import type { Outage } from "./outage.ts";
import { type Claim, FatalError, type Work } from "./work.ts";

/**
 * When to claim, and how much.
 *
 *     claiming --rows--> claiming            more may be there and a slot is free
 *     claiming --------> full                no slot is free; a settled row wakes it
 *     claiming --------> resting             nothing behind; the poll interval or a wake-up ends it
 *     claiming --error-> backing-off         longer with each failure, at most MAX_BACKOFF_MS
 *     any      --------> paused              until it is resumed
 *
 * Where a claim takes a connection of its own (row locks, advisory locks), several are in flight at
 * once, one row each. As long as the last answer was empty only one is: fifty idle slots poll with one
 * statement, and each row that is found lets all of them look.
 */
export class ClaimLoop<D extends Delivery> {
  readonly #work: Work<D>;
  readonly #settings: ClaimLoopSettings<D>;
  readonly #bell: Bell;
  readonly #backoff: Backoff;
  readonly #inFlight = new Set<Promise<void>>();
  #state: ClaimState = "claiming";
  #isOpen = false;
  #isPaused = false;
  #isUnavailable = false;
  /** Rows may have become claimable since the last claim was sent. */
  #isWoken = false;
  /** The last claim found rows, and more may be behind them. */
  #flows = false;
  #restUntil: number | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(work: Work<D>, settings: ClaimLoopSettings<D>) {
    this.#work = work;
    this.#settings = settings;
    this.#bell = new Bell(settings.clock);
    // Who polls once an hour, since notifications wake him, does not wait an hour after an outage.
    this.#backoff = new Backoff(Math.min(settings.pollIntervalMs, MAX_BACKOFF_MS), MAX_BACKOFF_MS);
  }

  get state(): ClaimState {
    return this.#state;
  }

  /** Nothing makes it look before the next poll, or at all. */
  get isAtRest(): boolean {
    return this.#state === "paused" || (this.#state === "resting" && !this.#isWoken);
  }

  /** Looks now rather than at the next poll. */
  wake(): void {
    this.#isWoken = true;
    this.#bell.ring();
  }

  pause(): void {
    this.#isPaused = true;
    this.#bell.ring();
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  /** A delivery ended as it should: handlers can start. */
  succeeded(): void {
    this.#backoff.reset();
  }

  /** A row went back since the database was not to be had: claim later, and longer each time. */
  unavailable(): void {
    this.#isUnavailable = true;
  }

  /**
   * A slot is free. The next row of its key is free now; without a key only a full loop waits for
   * this, and one whose row went back unsettled: that is not to wait for the next poll.
   */
  freed(key: string | null): void {
    if (key !== null || this.#state === "full" || this.#isUnavailable) this.wake();
  }

  /** Claims until the signal aborts and no claim is in flight. */
  async run(): Promise<void> {
    const { stopping } = this.#settings;
    const ring = () => this.#bell.ring();
    stopping.addEventListener("abort", ring, { once: true });
    try {
      while (!stopping.aborted) await this.#step();
    } finally {
      stopping.removeEventListener("abort", ring);
      await Promise.all(this.#inFlight);
    }
  }

  async #step(): Promise<void> {
    const failure = this.#failure;
    if (failure !== undefined || this.#isUnavailable) {
      this.#failure = undefined;
      this.#isUnavailable = false;
      return await this.#backOff(failure);
    }
    // Who is paused from the start still finds out whether the table fits.
    if (this.#isPaused && (this.#isOpen || this.#inFlight.size > 0)) {
      this.#state = "paused";
      return await this.#bell.wait();
    }
    if (await this.#rests()) return;
    const limit = this.#limit();
    if (limit === 0) return await this.#bell.wait();
    this.#state = "claiming";
    this.#isWoken = false;
    this.#restUntil = undefined;
    const claim = this.#claim(limit).finally(() => {
      this.#inFlight.delete(claim);
      this.#bell.ring();
    });
    this.#inFlight.add(claim);
  }

  /** How many rows the next claim may take; 0: not now. */
  #limit(): number {
    const { mostClaims, wanted } = this.#settings;
    const claims = this.#inFlight.size;
    // Each claim in flight takes one row, where there may be several.
    const free = mostClaims > 1 ? wanted() - claims : wanted();
    if (free <= 0) {
      this.#state = "full";
      return 0;
    }
    if (claims >= (this.#flows ? mostClaims : 1)) {
      this.#state = "claiming";
      return 0;
    }
    return mostClaims > 1 ? 1 : free;
  }

  /** Waits where there is nothing to look for; true when something happened meanwhile. */
  async #rests(): Promise<boolean> {
    if (this.#restUntil === undefined || this.#isWoken) return false;
    const leftMs = this.#restUntil - this.#settings.clock.monotonic();
    if (leftMs <= 0) return false;
    this.#state = "resting";
    if (this.#inFlight.size === 0) this.#settings.rested();
    await this.#bell.wait(leftMs);
    return true;
  }

  async #claim(limit: number): Promise<void> {
    const { stopping, take } = this.#settings;
    try {
      // The first claim is alone: nothing has been found yet.
      if (!this.#isOpen) await this.#work.open(stopping);
      this.#isOpen = true;
      if (stopping.aborted || this.#isPaused) return;
      const claim = await this.#work.claim(limit, stopping);
      this.#settings.outage.succeeded();
      take(claim.deliveries);
      // A claim alone does not show that handlers can start; a settled delivery does.
      if (claim.deliveries.length === 0) this.#backoff.reset();
      this.#flows = claim.rest === "more";
      if (claim.rest !== "more") this.#rest(claim.rest);
    } catch (error) {
      if (error instanceof FatalError) this.#settings.fatal(error);
      else if (!stopping.aborted) this.#failure = { error };
    }
  }

  #rest(rest: Exclude<Claim<D>["rest"], "more">): void {
    const { clock, pollIntervalMs } = this.#settings;
    // Jitter, so that workers that started together do not poll in step for ever.
    const delayMs = rest === "empty" ? jittered(pollIntervalMs, POLL_JITTER) : rest.afterMs;
    this.#restUntil = clock.monotonic() + delayMs;
  }

  async #backOff(failure: { readonly error: unknown } | undefined): Promise<void> {
    const { clock, outage, stopping } = this.#settings;
    const delayMs = this.#backoff.next();
    if (failure !== undefined) outage.failed(failure.error, delayMs);
    this.#state = "backing-off";
    this.#flows = false;
    await pause(clock, delayMs, stopping);
    this.#restUntil = undefined;
  }
}

export type ClaimState = "claiming" | "full" | "resting" | "backing-off" | "paused";

export interface ClaimLoopSettings<D> {
  readonly pollIntervalMs: number;
  /** Claims in flight at once; with more than one, each takes one row. */
  readonly mostClaims: number;
  readonly clock: Clock;
  readonly outage: Outage;
  readonly stopping: AbortSignal;
  /** How many rows there is room for. */
  wanted(): number;
  take(deliveries: readonly D[]): void;
  /** The last claim found nothing behind what it took, and no other is in flight. */
  rested(): void;
  /** Claiming again cannot help. */
  fatal(error: FatalError): void;
}

/** Claims that fail wait at most this long for the next. */
export const MAX_BACKOFF_MS = 30_000;

const POLL_JITTER = 0.2;
