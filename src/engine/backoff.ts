import { jittered } from "../retry.ts";

/** Delays that double from `baseMs` to `maxMs` with each failure in a row, with jitter. */
export class Backoff {
  readonly #baseMs: number;
  readonly #maxMs: number;
  #failures = 0;

  constructor(baseMs: number, maxMs: number) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure and answers how long to wait after it, in whole milliseconds. */
  next(): number {
    const delayMs = Math.min(this.#maxMs, this.#baseMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return Math.round(Math.min(this.#maxMs, jittered(delayMs, 0.2)));
  }

  reset(): void {
    this.#failures = 0;
  }
}
