import { pause, systemClock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import type { Progress, Standing } from "./progress.ts";

/** Between two looks at the table. */
const LOOK_MS = 150;

type Read = () => Promise<Standing & { readonly later?: number }>;

/**
 * Does the work, and shows how the messages stand, until none is waiting but those that are due far later, or
 * the signal aborts. The work's own signal aborts then: it ends in good order.
 */
export async function workUntilDone(
  work: (signal: AbortSignal) => Promise<unknown>,
  read: Read,
  progress: Progress,
  stop: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal]);
  const working = work(signal);
  try {
    // The work ends before the signal only by an error.
    await Promise.race([working, watch(read, progress, signal)]);
  } finally {
    done.abort();
    await working;
  }
  progress.update(await read());
}

async function watch(read: Read, progress: Progress, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const standing = await read();
    progress.update(standing);
    if (standing.waiting === (standing.later ?? 0)) return;
    await pause(systemClock, LOOK_MS, signal);
  }
}

/** Tells what happens to single messages. */
export function loggerOf(progress: Progress): Logger {
  const tell = (_message: string, fields: Record<string, unknown> = {}): void => {
    const { delayMs, error, event, id } = fields;
    if (event === "retried") progress.event(`retry in ${delayMs} ms  ${id}  ${error}`);
    if (event === "dead") progress.event(`dead  ${id}  ${error}`);
    if (event === "claim_failed") progress.event(`the database does not answer: ${error}`);
  };
  return { info: tell, warn: tell, error: tell };
}
