export interface UntilOptions {
  /** Milliseconds after which it gives up; 10,000 by default. */
  readonly deadline?: number;
  /** Milliseconds between two looks; 10 by default. */
  readonly interval?: number;
  /** What is waited for, for the error's text; by default the condition's source. */
  readonly what?: string;
}

/**
 * Waits for a condition: resolves with its first truthy answer. An error that the condition throws is
 * an answer of "not yet", and shows in the failure when the deadline passes.
 *
 * @throws Error when the deadline passes first.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { deadline = 10_000, interval = 10, what }: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const end = performance.now() + deadline;
  for (;;) {
    let last: unknown;
    let cause: unknown;
    try {
      const answer = await condition();
      if (isTruthy(answer)) return answer;
      last = answer;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end) {
      const awaited = what ?? String(condition);
      const seen = cause === undefined ? `last answer: ${String(last)}` : "it threw, see the cause";
      throw new Error(`not within ${deadline} ms: ${awaited} (${seen})`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

function isTruthy<T>(value: T): value is Exclude<T, false | null | undefined | 0 | ""> {
  return Boolean(value);
}
