import type { Clock, Timer } from "../clock.ts";
import { MAX_BACKOFF_MS } from "../engine/claim-loop.ts";

/**
 * Rows that come again at once: they failed, and their table has no due time to give them (or their fifo
 * group keeps their place), or their handler would have it so. While the same row keeps coming, claims are
 * held back, for the poll interval first and then twice as long each time, up to 30 seconds.
 */
export class FailingRows {
  readonly #clock: Clock;
  readonly #pollIntervalMs: number;
  readonly #hold: () => void;
  readonly #release: () => void;
  readonly #failures = new Map<string, number>();
  #timer: Timer | undefined;
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(settings: FailingRowsSettings) {
    this.#clock = settings.clock;
    this.#pollIntervalMs = settings.pollIntervalMs;
    this.#hold = settings.hold;
    this.#release = settings.release;
  }

  count(id: string): number {
    return this.#failures.get(id) ?? 0;
  }

  failed(id: string): void {
    this.#again(id, 0);
  }

  /** A handler asked for the row again; that costs nobody a wait the first time. */
  askedAgain(id: string): void {
    this.#again(id, 1);
  }

  #again(id: string, free: number): void {
    const failures = this.count(id) + 1;
    // Last seen last: what is forgotten first is what has not failed for longest.
    this.#failures.delete(id);
    this.#failures.set(id, failures);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_ROWS && oldest !== undefined) this.#failures.delete(oldest);
    if (failures <= free) return;
    const delayMs = this.#pollIntervalMs * 2 ** Math.min(failures - free - 1, 30);
    this.#holdFor(Math.min(delayMs, Math.max(MAX_BACKOFF_MS, this.#pollIntervalMs)));
  }

  /** The row is settled for good. */
  forget(id: string): void {
    if (this.#failures.size > 0) this.#failures.delete(id);
  }

  /** Holds nothing back any more; leaves no timer. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #holdFor(delayMs: number): void {
    const until = this.#clock.monotonic() + delayMs;
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    this.#timer?.cancel();
    this.#hold();
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = undefined;
      this.#release();
    }, delayMs);
  }
}

export interface FailingRowsSettings {
  readonly clock: Clock;
  readonly pollIntervalMs: number;
  /** No more claims until `release`. */
  hold(): void;
  release(): void;
}

/** Rows whose failures are counted; the rest starts anew. */
const MOST_ROWS = 1000;
