import type { Clock } from "../clock.ts";
import { TimeoutError } from "../errors.ts";
import { orAbort } from "../time-limit.ts";

/** How a handler ended. */
export type Ended<T> =
  | { readonly ended: "returned"; readonly answer: T }
  | { readonly ended: "threw"; readonly error: unknown }
  /** Its signal aborted while it ran; nobody looks at what it answered. */
  | { readonly ended: "interrupted" }
  /** Its signal aborted, and it does not end. */
  | { readonly ended: "left behind"; readonly reason: unknown };

/** Waits for a handler to end, past its signal's abort, but not past the patience. */
export async function untilEnded<T>(
  running: Promise<T>,
  signal: AbortSignal,
  patience: AbortSignal,
): Promise<Ended<T>> {
  const settled = running.then(
    (answer): Ended<T> => ({ ended: "returned", answer }),
    (error: unknown): Ended<T> => ({ ended: "threw", error }),
  );
  try {
    const ended = await orAbort(settled, patience);
    return signal.aborted ? { ended: "interrupted" } : ended;
  } catch (reason) {
    return { ended: "left behind", reason };
  }
}

/** A signal that aborts when the handler has had its last wait after the delivery's signal aborted. */
export function lastWait(
  clock: Clock,
  signal: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  let cancelTimer = () => {};
  const start = () => {
    const giveUp = () =>
      controller.abort(
        new TimeoutError(`nothing ended within ${LAST_WAIT_MS} ms after the signal aborted`),
      );
    const timer = clock.setTimer(giveUp, LAST_WAIT_MS);
    cancelTimer = () => timer.cancel();
  };
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      cancelTimer();
      signal.removeEventListener("abort", start);
    },
  };
}

/** How long a handler may take to end after its signal aborted, in milliseconds. */
export const LAST_WAIT_MS = 5000;
