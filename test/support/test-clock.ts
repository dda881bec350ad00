import type { Clock, Timer } from "../../src/clock.ts";

interface Pending {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until the test moves it. */
export class TestClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #pending = new Set<Pending>();

  monotonic(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const pending = { due: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /** How many timers wait. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer; undefined without one. */
  get next(): number | undefined {
    const first = this.#first();
    return first && first.due - this.#now;
  }

  /**
   * Moves time on, and calls each timer at its own instant, in order. Between two timers (and at the
   * end) promises get their turn, so that a timer set by a callback's continuation runs too.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turn();
    for (
      let first = this.#first();
      first !== undefined && first.due <= end;
      first = this.#first()
    ) {
      this.#pending.delete(first);
      this.#now = Math.max(this.#now, first.due);
      first.callback();
      await turn();
    }
    this.#now = end;
    await turn();
  }

  #first(): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (
        first === undefined ||
        pending.due < first.due ||
        (pending.due === first.due && pending.order < first.order)
      ) {
        first = pending;
      }
    }
    return first;
  }
}

/** Lets every promise that is ready run on, and its successors: a turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
