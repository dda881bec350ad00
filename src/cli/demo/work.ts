import { pause, systemClock } from "../../clock.ts";
import { PayloadError } from "../../errors.ts";
import { deadLetter, defaultRetryPolicy } from "../../queuebox/failure-action.ts";
import { InboxWorker } from "../../queuebox/inbox-worker.ts";
import type { InboxLogger, InboxRetryDecision } from "../../queuebox/types.ts";
import { readCounts } from "./counts.ts";
import type { Progress } from "./progress.ts";
import type { Shop } from "./shop.ts";
import { takeOrder } from "./take-order.ts";

/** Between two looks at the table. */
const LOOK_MS = 150;

/**
 * Runs a worker for each source until nothing is left to do, or the signal aborts; then stops them
 * in good order.
 */
export async function work(
  shop: Shop,
  sources: readonly string[],
  progress: Progress,
  stop: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal]);
  const working = Promise.all(sources.map((source) => workSource(shop, source, progress, signal)));
  try {
    // A worker ends before the signal only by an error.
    await Promise.race([working, watch(shop, progress, signal)]);
  } finally {
    done.abort();
    await working;
  }
  progress.update(await readCounts(shop));
}

async function watch(shop: Shop, progress: Progress, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const counts = await readCounts(shop);
    progress.update(counts);
    if (counts.waiting === counts.later) return;
    await pause(systemClock, LOOK_MS, signal);
  }
}

async function workSource(
  shop: Shop,
  source: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const worker = new InboxWorker(shop.database.source, {
    source,
    schema: shop.inbox,
    payload: "text",
    batchSize: 10,
    maxConcurrency: 4,
    leaseMs: 10_000,
    pollIntervalMs: 100,
    shutdownGraceMs: 5_000,
    abandon: "release",
    retryPolicy,
    logger: eventsOf(progress),
  });
  await worker.run(takeOrder(shop), signal);
}

/** Waits of a fraction of a second, so that the demo is over in seconds: four deliveries, then dead. */
const retrying = defaultRetryPolicy({ maxAttempts: 3, baseDelayMs: 200, maxDelayMs: 1_000 });

/** A message that cannot be read will not be any better next time. */
const retryPolicy: InboxRetryDecision = (message, failure) =>
  failure instanceof PayloadError ? deadLetter() : retrying(message, failure);

function eventsOf(progress: Progress): InboxLogger {
  const tell = (_message: string, fields: Record<string, unknown> = {}): void => {
    const { delayMs, error, event, id } = fields;
    if (event === "retried") progress.event(`retry in ${delayMs} ms  ${id}  ${error}`);
    if (event === "dead") progress.event(`dead  ${id}  ${error}`);
    if (event === "claim_failed") progress.event(`the database does not answer: ${error}`);
  };
  return { info: tell, warn: tell, error: tell };
}
