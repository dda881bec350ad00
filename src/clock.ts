/**
 * Time as a parameter: monotonic milliseconds and timers. The engine never asks the host for the
 * time of day; "now" in a statement is the database's own clock.
 */
export interface Clock {
  /** Milliseconds that only ever grow; the zero is arbitrary. */
  monotonic(): number;
  /** Calls back once after `delayMs` milliseconds, unless cancelled. */
  setTimer(callback: () => void, delayMs: number): Timer;
  /**
   * The time of day, for tests that move it on: a broker asks it instead of the database, for tables whose
   * clock is the database's. Left out: the database is asked.
   */
  now?(): Date;
}

/** A pending callback of {@link Clock.setTimer}. */
export interface Timer {
  /** Takes the callback back. Does nothing when it already ran. */
  cancel(): void;
}

/** The host's monotonic clock and timers. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** The longest delay that a timer takes (2^31 - 1 ms); Node runs longer ones at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** Resolves after `delayMs` or when the signal aborts, whichever is first; leaves no timer behind. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const end = () => {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimer(end, delayMs);
    signal?.addEventListener("abort", end, { once: true });
  });
}
