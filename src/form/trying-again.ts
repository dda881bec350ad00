import { type Clock, pause } from "../clock.ts";
import { Backoff } from "../engine/backoff.ts";
import { sanitizeError } from "../error-text.ts";

/**
 * Tries again, with growing waits, for as long as a lease lasts: whatever fails that long is left to
 * the lease.
 *
 * @throws what the last try threw.
 */
export async function tryForALease<T>(
  { clock, ended, leaseMs, isOver, isFinal }: TryingSettings,
  run: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + leaseMs;
  const backoff = new Backoff(20, 1000);
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const isLate = clock.monotonic() >= until || isOver?.() === true || ended.aborted;
      if (isLate || isFinal(error)) throw error;
      await pause(clock, backoff.next(), ended);
    }
  }
}

export interface TryingSettings {
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Aborts when the subscription has ended: nothing is tried again after it. */
  readonly ended: AbortSignal;
  /** Nobody is interested any more. */
  isOver?(): boolean;
  /** Trying again cannot help. */
  isFinal(error: unknown): boolean;
}

/**
 * The text of a failure as a database may take it: redacted, then without what an encoding could
 * refuse, then a text that says nothing.
 */
export function storableTexts(failure: unknown): readonly [string, string, string] {
  const text = sanitizeError(failure);
  return [text, asciiOf(text), "the error's text cannot be stored in this database"];
}

/** The text with nothing in it that an encoding could refuse. */
function asciiOf(text: string): string {
  return text.replace(/[^\x20-\x7e\n\t]/g, "?");
}
