import { type Clock, pause } from "../clock.ts";

/**
 * A wake-up. However often it rings before somebody waits, one wait ends: fifty notifications for
 * fifty idle slots are one claim.
 */
export class Bell {
  readonly #clock: Clock;
  #rung = false;
  #waiting: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#waiting?.abort();
  }

  /** Forgets earlier rings: what they announced is about to be looked at. */
  silence(): void {
    this.#rung = false;
  }

  /** Resolves at the next ring (at once if it rang already), or after `delayMs` where one is given. */
  async wait(delayMs?: number): Promise<void> {
    if (!this.#rung) {
      const waiting = new AbortController();
      this.#waiting = waiting;
      if (delayMs === undefined) await aborted(waiting.signal);
      else await pause(this.#clock, delayMs, waiting.signal);
      this.#waiting = undefined;
    }
    this.#rung = false;
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
