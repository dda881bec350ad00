import type { Clock, Timer } from "../../src/clock.ts";

interface Pending {
  readonly due: number;
  readonly callback: () => void;
  timer: NodeJS.Timeout;
}

/** The host's clock, which a test can put forward: for long waits beside a real database. */
export class JumpClock implements Clock {
  #aheadMs = 0;
  readonly #pending = new Set<Pending>();
  /** How many timers have rung. */
  rung = 0;

  monotonic(): number {
    return performance.now() + this.#aheadMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const pending: Pending = {
      due: this.monotonic() + delayMs,
      callback,
      timer: setTimeout(() => this.#fire(pending), delayMs),
    };
    this.#pending.add(pending);
    return {
      cancel: () => {
        clearTimeout(pending.timer);
        this.#pending.delete(pending);
      },
    };
  }

  /** What is due within the next `ms` milliseconds is due now. */
  jump(ms: number): void {
    this.#aheadMs += ms;
    for (const pending of this.#pending) {
      clearTimeout(pending.timer);
      const leftMs = Math.max(0, pending.due - this.monotonic());
      pending.timer = setTimeout(() => this.#fire(pending), leftMs);
    }
  }

  #fire(pending: Pending): void {
    this.#pending.delete(pending);
    this.rung += 1;
    pending.callback();
  }
}
