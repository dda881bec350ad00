import { checkKnownKeys, checkNumber, isObject, MAX_INT32, shown } from "../options.ts";
import { DEFAULT_RETRY_DELAYS, MAX_DELAY_MS, retryDelay } from "../retry.ts";
import type { InboxFailureAction, InboxRetryDecision } from "./types.ts";

/**
 * Answer of a retry policy: try the message again after `ms` milliseconds (rounded to whole ones).
 *
 * @throws RangeError where `ms` is negative, not finite, or more than a hundred years.
 * @example
 * const policy: InboxRetryPolicy = (message) => (message.attempt < 3 ? retryAfter(60_000) : deadLetter());
 */
export function retryAfter(ms: number): InboxFailureAction {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= MAX_DELAY_MS)) {
    throw new RangeError(
      `retryAfter takes milliseconds from 0 to ${MAX_DELAY_MS}, not ${shown(ms)}`,
    );
  }
  return { retry: true, delayMs: Math.round(ms) };
}

/** Answer of a retry policy: the message is dead; it stays in the table for somebody to look at. */
export function deadLetter(): InboxFailureAction {
  return { retry: false };
}

/** Settings of {@link defaultRetryPolicy}. */
export interface DefaultRetryPolicyOptions {
  /** A message that failed this often before is dead at its next failure. Default 5: six deliveries. */
  readonly maxAttempts?: number;
  /** Wait after the first failure, in milliseconds; doubles with each. Default 1000. */
  readonly baseDelayMs?: number;
  /** Ceiling of the wait, in milliseconds. Default 300000. */
  readonly maxDelayMs?: number;
  /** Share of the wait that is random, either way; 0 to 1. Default 0.2. */
  readonly jitter?: number;
}

/**
 * The policy of a worker that is given none: exponential waits, then dead letter.
 *
 * @throws TypeError or RangeError that names the option which is wrong.
 * @example
 * new InboxWorker(fromPg(pool), { source: "orders", retryPolicy: defaultRetryPolicy({ maxAttempts: 10 }) });
 */
export function defaultRetryPolicy(options: DefaultRetryPolicyOptions = {}): InboxRetryDecision {
  checkKnownKeys("defaultRetryPolicy", options, [
    "maxAttempts",
    "baseDelayMs",
    "maxDelayMs",
    "jitter",
  ]);
  const given = { maxAttempts: 5, ...DEFAULT_RETRY_DELAYS, ...withoutUndefined(options) };
  const maxAttempts = checkNumber("maxAttempts", given.maxAttempts, { min: 1, max: MAX_INT32 });
  const delay = { min: 0, max: MAX_DELAY_MS, whole: false };
  const baseDelayMs = checkNumber("baseDelayMs", given.baseDelayMs, delay);
  const maxDelayMs = checkNumber("maxDelayMs", given.maxDelayMs, { ...delay, min: baseDelayMs });
  const jitter = checkNumber("jitter", given.jitter, { min: 0, max: 1, whole: false });
  return (message) => {
    if (message.attempt >= maxAttempts) return deadLetter();
    return retryAfter(
      Math.min(MAX_DELAY_MS, retryDelay(message.attempt, { baseDelayMs, maxDelayMs, jitter })),
    );
  };
}

/** The action itself, or undefined where the value is none. */
export function asFailureAction(value: unknown): InboxFailureAction | undefined {
  if (!isObject(value)) return undefined;
  if (value.retry === false) return { retry: false };
  const { delayMs } = value;
  if (value.retry !== true || typeof delayMs !== "number") return undefined;
  if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS)) return undefined;
  return { retry: true, delayMs: Math.round(delayMs) };
}

function withoutUndefined(options: DefaultRetryPolicyOptions): DefaultRetryPolicyOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
