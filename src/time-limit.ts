import type { Clock } from "./clock.ts";
import { TimeoutError } from "./errors.ts";

/** A signal that aborts after a while, and earlier when the one it belongs to does. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Takes the limit off; leaves no timer and no listener behind. */
  cancel(): void;
}

/**
 * A limit of `limitMs` on an operation; `message` says what took too long. A parent's abort passes
 * through with its reason.
 */
export function timeLimit(
  clock: Clock,
  limitMs: number,
  message: string,
  parent?: AbortSignal,
): TimeLimit {
  const controller = new AbortController();
  const passOn = () => controller.abort(parent?.reason);
  const timer = clock.setTimer(() => controller.abort(new TimeoutError(message)), limitMs);
  if (parent?.aborted) passOn();
  else parent?.addEventListener("abort", passOn, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      parent?.removeEventListener("abort", passOn);
    },
  };
}

/**
 * The promise, or the signal's reason if that comes first. The promise itself goes on; `late` gets
 * what it answers after that, so that nothing it opened is left lying around.
 */
export function orAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", abort);
        if (signal.aborted) late(value);
        else resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", abort);
        reject(error);
      },
    );
  });
}
