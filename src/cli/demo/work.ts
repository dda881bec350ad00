import { PayloadError } from "../../errors.ts";
import { deadLetter, defaultRetryPolicy } from "../../queuebox/failure-action.ts";
import { InboxWorker } from "../../queuebox/inbox-worker.ts";
import type { InboxRetryDecision } from "../../queuebox/types.ts";
import { readCounts } from "./counts.ts";
import type { Progress } from "./progress.ts";
import type { Shop } from "./shop.ts";
import { takeOrder } from "./take-order.ts";
import { loggerOf, workUntilDone } from "./watch.ts";

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
  await workUntilDone(
    (signal) => Promise.all(sources.map((source) => workSource(shop, source, progress, signal))),
    () => readCounts(shop),
    progress,
    stop,
  );
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
    logger: loggerOf(progress),
  });
  await worker.run(takeOrder(shop), signal);
}

/** Waits of a fraction of a second, so that the demo is over in seconds: four deliveries, then dead. */
const retrying = defaultRetryPolicy({ maxAttempts: 3, baseDelayMs: 200, maxDelayMs: 1_000 });

/** A message that cannot be read will not be any better next time. */
const retryPolicy: InboxRetryDecision = (message, failure) =>
  failure instanceof PayloadError ? deadLetter() : retrying(message, failure);
