import type { Clock, Timer } from "../clock.ts";

interface Pending {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * The host's clock, which a test can move on: time passes as it does, and `advance` adds to it at once.
 * Timers come due by the one or by the other.
 */
export class MovingClock implements Clock {
  #aheadMs = 0;
  #order = 0;
  readonly #pending = new Set<Pending>();

  monotonic(): number {
    return performance.now() + this.#aheadMs;
  }

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = setTimeout(() => pending.fire(), Math.min(Math.max(0, delayMs), LONGEST_MS));
    const pending: Pending = {
      due: this.monotonic() + delayMs,
      order: this.#order++,
      fire: () => {
        clearTimeout(timer);
        if (this.#pending.delete(pending)) callback();
      },
    };
    this.#pending.add(pending);
    return {
      cancel: () => {
        clearTimeout(timer);
        this.#pending.delete(pending);
      },
    };
  }

  /**
   * Moves time on in one step, and calls what has come due, in order. What that sets is not due yet: a
   * limit on an answer that is on its way is no wait for time.
   */
  async advance(ms: number): Promise<void> {
    this.#aheadMs += ms;
    const now = this.monotonic();
    const due = [...this.#pending].filter((pending) => pending.due <= now);
    for (const pending of due.sort((a, b) => a.due - b.due || a.order - b.order)) pending.fire();
    await turn();
  }
}

/** The longest delay that a timer of the host takes. */
const LONGEST_MS = 2_147_483_647;

/** Lets every promise that is ready run on: a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
