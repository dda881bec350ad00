import { type Clock, pause } from "../clock.ts";
import { ShutdownError } from "../errors.ts";
import type { Log } from "../log.ts";
import { Backoff, jittered } from "./backoff.ts";
import { aborted, Bell } from "./bell.ts";
import type { Delivery } from "./delivery.ts";
import { Outage } from "./outage.ts";
import { Slots } from "./slots.ts";
import { type Claim, FatalError, type Work } from "./work.ts";

/**
 * The loop of one subscription: claims rows for its free slots, hands each to its handler, refills a
 * slot as soon as it is free, and stops in good order. It knows no SQL; a {@link Work} does.
 *
 *     claiming --rows--> claiming            more may be there and a slot is free
 *     claiming --------> full                no slot is free; a settled row wakes it
 *     claiming --------> resting             nothing behind; the poll interval or a wake-up ends it
 *     claiming --error-> backing-off         longer with each failure, at most MAX_BACKOFF_MS
 *     any      --stop--> stopping --> stopped
 *
 * Stopping: a claim in flight and all that waits for a slot are given back at once; what runs has the
 * grace, then its signal aborts, then a last bounded wait. After that `run` ends even if a handler
 * does not.
 */
export class Engine<D extends Delivery> {
  readonly #work: Work<D>;
  readonly #settings: EngineSettings;
  readonly #slots: Slots<D>;
  readonly #bell: Bell;
  readonly #backoff: Backoff;
  readonly #outage: Outage;
  readonly #stopping = new AbortController();
  readonly #performances = new Map<D, Promise<void>>();
  readonly #giveBacks = new Set<Promise<void>>();
  #state: EngineState = "claiming";
  #isUnavailable = false;

  constructor(work: Work<D>, settings: EngineSettings) {
    this.#work = work;
    this.#settings = settings;
    this.#slots = new Slots(settings.slots, settings.inHand, (delivery) => this.#start(delivery));
    this.#bell = new Bell(settings.clock);
    // Who polls once an hour, since notifications wake him, does not wait an hour after an outage.
    this.#backoff = new Backoff(Math.min(settings.pollIntervalMs, MAX_BACKOFF_MS), MAX_BACKOFF_MS);
    this.#outage = new Outage(settings.log, "claiming", "claim_failed", settings.fields);
  }

  get state(): EngineState {
    return this.#state;
  }

  /** Rows may have become claimable: look now rather than at the next poll. */
  wake(): void {
    this.#bell.ring();
  }

  /**
   * Runs until the signal aborts and everything is settled or given up.
   * @throws the cause of a {@link FatalError}, after the same orderly stop.
   */
  async run(signal?: AbortSignal): Promise<void> {
    const stop = () => this.#beginStop();
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    const failures: unknown[] = [];
    const claims = this.#claimUntilStopped().catch((error: unknown) => {
      failures.push(error instanceof FatalError ? error.cause : error);
      stop();
    });
    await aborted(this.#stopping.signal);
    await this.#finish(claims);
    this.#work.close();
    signal?.removeEventListener("abort", stop);
    this.#state = "stopped";
    if (failures.length > 0) throw failures[0];
  }

  #beginStop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#state = "stopping";
    this.#stopping.abort(new ShutdownError("the worker is stopping"));
    this.#bell.ring();
    this.#giveBack(this.#slots.drain());
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #claimUntilStopped(): Promise<void> {
    let isOpen = false;
    while (!this.#isStopping) {
      if (this.#isUnavailable) {
        this.#isUnavailable = false;
        await this.#backOff();
        continue;
      }
      const wanted = this.#slots.wanted;
      if (wanted === 0) {
        this.#state = "full";
        await this.#bell.wait();
        continue;
      }
      this.#state = "claiming";
      this.#bell.silence();
      try {
        if (!isOpen) await this.#work.open(this.#stopping.signal);
        isOpen = true;
        if (this.#isStopping) return;
        const claim = await this.#work.claim(wanted, this.#stopping.signal);
        this.#outage.succeeded();
        await this.#take(claim);
      } catch (error) {
        if (error instanceof FatalError) throw error;
        if (this.#isStopping) return;
        await this.#backOff(error);
      }
    }
  }

  async #take(claim: Claim<D>): Promise<void> {
    if (this.#isStopping) {
      this.#giveBack(claim.deliveries);
      return;
    }
    this.#slots.add(claim.deliveries);
    // A claim alone does not show that handlers can start; a settled delivery does.
    if (claim.deliveries.length === 0) this.#backoff.reset();
    if (claim.rest === "more") return;
    const { pollIntervalMs } = this.#settings;
    this.#state = "resting";
    // Jitter, so that workers that started together do not poll in step for ever.
    const delayMs =
      claim.rest === "empty" ? jittered(pollIntervalMs, POLL_JITTER) : claim.rest.afterMs;
    await this.#bell.wait(delayMs);
  }

  async #backOff(error?: unknown): Promise<void> {
    const delayMs = this.#backoff.next();
    if (error !== undefined) this.#outage.failed(error, delayMs);
    this.#state = "backing-off";
    await pause(this.#settings.clock, delayMs, this.#stopping.signal);
  }

  #start(delivery: D): void {
    const performance = this.#perform(delivery).finally(() => {
      this.#performances.delete(delivery);
      this.#slots.free(delivery);
      // The next row of its key is free now. Without a key only a full engine waits for this, and one
      // whose row went back unsettled: that is not to wait for the next poll.
      const isWaitedFor = delivery.key !== null || this.#state === "full" || this.#isUnavailable;
      if (isWaitedFor) this.#bell.ring();
    });
    this.#performances.set(delivery, performance);
  }

  async #perform(delivery: D): Promise<void> {
    try {
      const performance = await this.#work.perform(delivery);
      if (performance === "unavailable") this.#isUnavailable = true;
      else this.#backoff.reset();
    } catch (error) {
      this.#settings.log.error(
        "a delivery ended in an unexpected way; its row is left to its lease",
        {
          event: "internal_error",
          ...this.#settings.fields,
          id: delivery.id,
          error,
        },
      );
    }
  }

  #giveBack(deliveries: readonly D[]): void {
    if (deliveries.length === 0) return;
    const giveBack = this.#work
      .giveBack(deliveries)
      .finally(() => this.#giveBacks.delete(giveBack));
    this.#giveBacks.add(giveBack);
  }

  async #finish(claims: Promise<void>): Promise<void> {
    const { clock, graceMs, lastWaitMs, log, fields } = this.#settings;
    const all = async () => {
      await claims;
      await Promise.all([...this.#performances.values(), ...this.#giveBacks]);
    };
    if (await endsWithin(clock, graceMs, all())) return;
    for (const delivery of this.#slots.running) {
      delivery.cutOff(new ShutdownError(`the worker stops and its grace of ${graceMs} ms is over`));
    }
    if (await endsWithin(clock, lastWaitMs, all())) return;
    for (const delivery of this.#slots.running) {
      if (!delivery.leaveBehind()) continue;
      log.error("a handler did not end when its signal aborted; it is left behind", {
        event: "handler_left_behind",
        ...fields,
        id: delivery.id,
        waitedMs: graceMs + lastWaitMs,
      });
    }
  }
}

export type EngineState = "claiming" | "full" | "resting" | "backing-off" | "stopping" | "stopped";

export interface EngineSettings {
  /** Deliveries that are worked side by side. */
  readonly slots: number;
  /** Rows that may be in hand at once, running and waiting; at least `slots`. */
  readonly inHand: number;
  readonly pollIntervalMs: number;
  /** How long running handlers may go on after a stop. */
  readonly graceMs: number;
  /** How long a handler may take to end after its signal aborted at the end of the grace. */
  readonly lastWaitMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Fields that every log line carries. */
  readonly fields: Record<string, unknown>;
}

/** Claims that fail wait at most this long for the next. */
export const MAX_BACKOFF_MS = 30_000;

const POLL_JITTER = 0.2;

/** Whether the promise settles within the time; rejections pass through. */
async function endsWithin(clock: Clock, limitMs: number, promise: Promise<void>): Promise<boolean> {
  const giveUp = new AbortController();
  const ended = promise.then(() => true);
  const late = pause(clock, limitMs, giveUp.signal).then(() => false);
  try {
    return await Promise.race([ended, late]);
  } finally {
    giveUp.abort();
  }
}
