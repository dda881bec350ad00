import { setMaxListeners } from "node:events";
import { type Clock, pause } from "../clock.ts";
import { ShutdownError } from "../errors.ts";
import type { Log } from "../log.ts";
import { aborted } from "./bell.ts";
import { ClaimLoop, type ClaimState } from "./claim-loop.ts";
import type { Delivery } from "./delivery.ts";
import { onStop } from "./on-stop.ts";
import { Outage } from "./outage.ts";
import { type SlotSettings, Slots } from "./slots.ts";
import type { FatalError, Work } from "./work.ts";

/**
 * One subscription at work: claims rows for its free slots ({@link ClaimLoop}), hands each to its
 * handler, refills a slot as soon as it is free, and stops in good order. It knows no SQL; a
 * {@link Work} does.
 *
 *     claiming, full, resting, backing-off, paused --stop--> stopping --> stopped
 *
 * Stopping: a claim in flight and all that waits for a slot are given back at once; what runs has the
 * grace, then its signal aborts, then a last bounded wait. After that `run` ends even if a handler
 * does not.
 */
export class Engine<D extends Delivery> {
  readonly #work: Work<D>;
  readonly #settings: EngineSettings;
  readonly #slots: Slots<D>;
  readonly #claims: ClaimLoop<D>;
  readonly #stopping = new AbortController();
  readonly #performances = new Map<D, Promise<void>>();
  readonly #giveBacks = new Set<Promise<void>>();
  readonly #idleWaiters: (() => void)[] = [];
  #fatal: { readonly error: unknown } | undefined;
  #end: "stopping" | "stopped" | undefined;
  #graceMs: number;

  constructor(work: Work<D>, settings: EngineSettings) {
    const { clock, fields, log } = settings;
    this.#work = work;
    this.#settings = settings;
    this.#graceMs = settings.graceMs;
    this.#slots = new Slots(settings, (delivery) => this.#start(delivery));
    // One listener for each handler that waits for a connection.
    setMaxListeners(0, this.#stopping.signal);
    this.#claims = new ClaimLoop(work, {
      clock,
      pollIntervalMs: settings.pollIntervalMs,
      mostClaims: settings.mostClaims ?? 1,
      outage: new Outage(log, "claiming", "claim_failed", fields),
      stopping: this.#stopping.signal,
      wanted: () => this.#slots.wanted,
      take: (deliveries) => this.#take(deliveries),
      rested: () => this.#tellIdle(),
      fatal: (error) => this.#fail(error),
    });
  }

  get state(): EngineState {
    return this.#end ?? this.#claims.state;
  }

  /** How many rows are with their handlers. */
  get running(): number {
    return this.#slots.running.size;
  }

  /** How many claimed rows wait for a slot. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /** Rows may have become claimable: look now rather than at the next poll. */
  wake(): void {
    this.#claims.wake();
  }

  /**
   * Looks once more, and resolves when a claim has found nothing and nothing is in hand; at once when
   * the engine is paused with nothing in hand, or has stopped.
   */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      if (this.#end === "stopped" || this.state === "paused") this.#tellIdle();
      else this.wake();
    });
  }

  /** Claims no more until {@link resume}; what is in hand goes on. */
  pause(): void {
    this.#claims.pause();
  }

  resume(): void {
    this.#claims.resume();
  }

  /** Begins the stop, as an abort of the signal does; `graceMs` replaces the settings' own. */
  stop(graceMs: number = this.#settings.graceMs): void {
    if (this.#isStopping) return;
    this.#graceMs = graceMs;
    this.#end = "stopping";
    this.#stopping.abort(new ShutdownError("the worker is stopping"));
    this.#giveBack(this.#slots.drain());
  }

  /**
   * Runs until the signal aborts and everything is settled or given up.
   * @throws the cause of a {@link FatalError}, after the same orderly stop.
   */
  async run(signal?: AbortSignal): Promise<void> {
    const stopNoMore = onStop(signal, () => this.stop());
    const claims = this.#claims.run();
    await aborted(this.#stopping.signal);
    await this.#finish(claims);
    await this.#work.close();
    stopNoMore();
    this.#end = "stopped";
    this.#tellIdle();
    if (this.#fatal !== undefined) throw this.#fatal.error;
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #fail(error: FatalError): void {
    this.#fatal ??= { error: error.cause };
    this.stop();
  }

  #take(deliveries: readonly D[]): void {
    if (this.#isStopping) this.#giveBack(deliveries);
    else this.#slots.add(deliveries);
  }

  #start(delivery: D): void {
    const performance = this.#perform(delivery).finally(() => {
      this.#performances.delete(delivery);
      this.#slots.free(delivery);
      this.#claims.freed(delivery.key);
      if (this.#claims.isAtRest) this.#tellIdle();
    });
    this.#performances.set(delivery, performance);
  }

  #tellIdle(): void {
    if (this.running + this.waiting > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  async #perform(delivery: D): Promise<void> {
    try {
      const performance = await this.#work.perform(delivery);
      if (performance === "unavailable") this.#claims.unavailable();
      else this.#claims.succeeded();
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
    const { clock, lastWaitMs, log, fields } = this.#settings;
    const graceMs = this.#graceMs;
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

export type EngineState = ClaimState | "stopping" | "stopped";

export interface EngineSettings extends SlotSettings {
  /**
   * Claims in flight at once, default 1. With more, each takes one row (or batch): for forms that hold
   * a connection for each.
   */
  readonly mostClaims?: number;
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
