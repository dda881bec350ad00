import type { Clock } from "../clock.ts";

/**
 * A wake-up. However often it rings before somebody waits, one wait ends: fifty notifications for
 * fifty idle slots are one claim.
 */
export class Bell {
  readonly #clock: Clock;
  #rung = false;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#end?.();
  }

  /** Forgets earlier rings: what they announced is about to be looked at. */
  silence(): void {
    this.#rung = false;
  }

  /** Resolves at the next ring (at once if it rang already), or after `delayMs` where one is given. */
  async wait(delayMs?: number): Promise<void> {
    if (!this.#rung) await this.#nextRing(delayMs);
    this.#rung = false;
  }

  #nextRing(delayMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer?.cancel();
        this.#end = undefined;
        resolve();
      };
      const timer = delayMs === undefined ? undefined : this.#clock.setTimer(end, delayMs);
      this.#end = end;
    });
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
