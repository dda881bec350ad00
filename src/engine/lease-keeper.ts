import type { Clock, Timer } from "../clock.ts";
import { LeaseLostError } from "../errors.ts";
import type { Log } from "../log.ts";
import { timeLimit } from "../time-limit.ts";
import type { Delivery } from "./delivery.ts";

import { Outage } from "./outage.ts";

/**
 * Keeps the leases of all rows in hand, running and waiting alike, with one statement a tick.
 *
 *     idle --hold--> waiting --tick--> extending --answer--> waiting (or idle, when nothing is held)
 *
 * Each row has a deadline by the monotonic clock: the moment its claim or its last extension was
 * *sent*, plus the lease. The database started the lease later than that, so a deadline that has not
 * passed proves that nobody else can have the row, whatever the hosts' clocks say. When it passes
 * without a success, the row is taken for lost, even while an extension is still on its way.
 */
export class LeaseKeeper<D extends Delivery> {
  readonly #settings: LeaseKeeperSettings<D>;
  readonly #outage: Outage;
  readonly #held = new Set<D>();
  #state: "idle" | "waiting" | "extending" = "idle";
  #tick: Timer | undefined;
  #alarm: { readonly timer: Timer; readonly at: number } | undefined;
  /** How late the last tick came: only an event loop that stood still delays one by much. */
  #lateMs = 0;

  constructor(settings: LeaseKeeperSettings<D>) {
    this.#settings = settings;
    this.#outage = new Outage(settings.log, "renewing leases", "renewal_failed", settings.fields);
  }

  /** Takes rows into keeping that were claimed by a statement sent at `sentAt`. */
  hold(deliveries: readonly D[], sentAt: number): void {
    const deadline = sentAt + this.#settings.leaseMs;
    for (const delivery of deliveries) {
      delivery.heldUntil = deadline;
      this.#held.add(delivery);
    }
    if (deliveries.length === 0) return;
    this.#setAlarm(deadline);
    if (this.#state === "idle" && this.#settings.extend !== undefined) this.#wait();
  }

  /** The row is settled, given back or lost: its lease is nobody's business any more. */
  letGo(delivery: D): void {
    this.#held.delete(delivery);
    if (this.#held.size > 0) return;
    this.#alarm?.timer.cancel();
    this.#alarm = undefined;
    if (this.#state !== "waiting") return;
    this.#tick?.cancel();
    this.#state = "idle";
  }

  /** Lets everything go. */
  stop(): void {
    for (const delivery of [...this.#held]) this.letGo(delivery);
  }

  #wait(waitMs: number = this.#settings.everyMs): void {
    this.#state = "waiting";
    const { clock } = this.#settings;
    const dueAt = clock.monotonic() + waitMs;
    this.#tick = clock.setTimer(() => {
      this.#lateMs = clock.monotonic() - dueAt;
      void this.#extendAll();
    }, waitMs);
  }

  async #extendAll(): Promise<void> {
    this.#state = "extending";
    let isExtended = await this.#extendOnce();
    // A single failure may be a connection that died of age: a fresh one gets its chance at once.
    if (!isExtended && this.#held.size > 0) isExtended = await this.#extendOnce();
    if (this.#held.size === 0) this.#state = "idle";
    else if (isExtended) this.#wait();
    else this.#wait(this.#beforeTheEnd(2));
  }

  /**
   * An interval, or a part of what is left of the first lease to end: where tries hang or fail, there is
   * time for another, up to a tenth of an interval before the end.
   */
  #beforeTheEnd(parts: number): number {
    const { clock, everyMs } = this.#settings;
    const end = Math.min(...[...this.#held].map(({ heldUntil }) => heldUntil));
    const left = (end - clock.monotonic()) / parts;
    return Math.min(everyMs, Math.max(left, everyMs / 10));
  }

  async #extendOnce(): Promise<boolean> {
    const { clock, everyMs, extend, leaseMs } = this.#settings;
    const round = [...this.#held];
    if (round.length === 0 || extend === undefined) return true;
    const limitMs = this.#beforeTheEnd(3);
    const limit = timeLimit(clock, limitMs, "the renewal was not answered in time");
    const sentAt = clock.monotonic();
    try {
      const answers = await extend(round, limit.signal);
      this.#outage.succeeded();
      for (const delivery of round) {
        if (!this.#held.has(delivery)) continue;
        const answer = answers.get(delivery) ?? "lost";
        if (answer === "extended") delivery.heldUntil = sentAt + leaseMs;
        else if (answer === "lost") this.#lose(delivery, "the database has it under another claim");
      }
      return true;
    } catch (error) {
      this.#outage.failed(error, everyMs);
      return false;
    } finally {
      limit.cancel();
    }
  }

  #setAlarm(at: number): void {
    if (this.#alarm !== undefined && this.#alarm.at <= at) return;
    this.#alarm?.timer.cancel();
    const { clock } = this.#settings;
    const timer = clock.setTimer(() => this.#ringAlarm(), Math.max(0, at - clock.monotonic()));
    this.#alarm = { timer, at };
  }

  #ringAlarm(): void {
    this.#alarm = undefined;
    const now = this.#settings.clock.monotonic();
    let earliest = Number.POSITIVE_INFINITY;
    for (const delivery of [...this.#held]) {
      if (delivery.heldUntil <= now) this.#lose(delivery, this.#whyItEnded());
      else earliest = Math.min(earliest, delivery.heldUntil);
    }
    if (earliest !== Number.POSITIVE_INFINITY) this.#setAlarm(earliest);
  }

  #whyItEnded(): string {
    const why = "its lease ended without a renewal";
    if (this.#lateMs < this.#settings.everyMs) return why;
    return `${why}, as the event loop was blocked for about ${Math.round(this.#lateMs)} ms and none could go out: give such work a longer leaseMs, or a thread`;
  }

  #lose(delivery: D, why: string): void {
    this.letGo(delivery);
    const reason = new LeaseLostError(`${delivery.id} is not this worker's any more: ${why}`);
    delivery.lose(reason);
  }
}

/** What an extension found: `locked` rows are still ours, and being settled by somebody. */
export type Extension = "extended" | "locked" | "lost";

export type Extend<D> = (
  deliveries: readonly D[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<D, Extension>>;

export interface LeaseKeeperSettings<D> {
  readonly clock: Clock;
  readonly log: Log;
  /** Fields that every log line carries. */
  readonly fields: Record<string, unknown>;
  readonly leaseMs: number;
  readonly everyMs: number;
  /**
   * Extends the leases of all these rows in one statement that waits for no row lock. When the signal
   * aborts, nobody waits for the answer any more. Left out where no connection can be had for it: then
   * the keeper only watches the deadlines.
   */
  readonly extend: Extend<D> | undefined;
}
