/** How long failed rows wait: exponential, with a ceiling and jitter. Shared by both doors. */
export interface RetryDelays {
  /** Wait after the first failure, in milliseconds. Default 1000. */
  readonly baseDelayMs: number;
  /** No wait is longer than this before jitter, in milliseconds. Default 300000. */
  readonly maxDelayMs: number;
  /** Share of the wait that is random, either way; 0 to 1. Default 0.2. */
  readonly jitter: number;
}

export const DEFAULT_RETRY_DELAYS: RetryDelays = {
  baseDelayMs: 1000,
  maxDelayMs: 300_000,
  jitter: 0.2,
};

/** The wait after a failure, in whole milliseconds, when `attempt` attempts failed before it. */
export function retryDelay(
  attempt: number,
  { baseDelayMs, maxDelayMs, jitter }: RetryDelays,
  random: () => number = Math.random,
): number {
  // 2^30 is past every ceiling that makes sense, and keeps the product far from Infinity.
  const exponent = Math.min(Math.max(attempt, 0), 30);
  const delayMs = Math.min(baseDelayMs * 2 ** exponent, maxDelayMs);
  return Math.round(jittered(delayMs, jitter, random));
}

/** Spreads a delay evenly over plus and minus `share` of it, so that many workers do not act in step. */
export function jittered(
  delayMs: number,
  share: number,
  random: () => number = Math.random,
): number {
  return delayMs * (1 + share * (2 * random() - 1));
}

/** The longest wait that a row may be given, in milliseconds: a hundred years. */
export const MAX_DELAY_MS = 3_155_760_000_000;
