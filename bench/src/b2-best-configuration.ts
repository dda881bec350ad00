/**
 * B2: rows drained by each contender at its best: fetched ahead or in batches, settled together.
 * `--quick` for a minute's worth.
 */
import pg from "pg";
import { compare, interleavedRounds } from "./support/paired-rounds.ts";
import { bossContender, graphileContender } from "./support/peer-contenders.ts";
import { brokerContender } from "./support/queue-contenders.ts";
import { loopContender } from "./support/queue-loops.ts";
import { told } from "./support/report.ts";
import { withBenchDatabase } from "./support/server.ts";

const isQuick = process.argv.includes("--quick");
const rows = isQuick ? 10_000 : 200_000;
const rounds = isQuick ? 3 : 5;

/** What was quickest of what was tried; the README says what that was. */
const settings = {
  "intray, batches": { slots: 2, batch: 1000, prefetch: 2 },
  "intray, one a call": { slots: 500, prefetch: 1500 },
  "hand-written batch loop": { slots: 2, batch: 1000 },
  "graphile-worker": {
    concurrentJobs: 24,
    maxPoolSize: 26,
    localQueue: { size: 2000 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
  "pg-boss": {
    max: 10,
    queue: { partition: true },
    work: {
      localConcurrency: 2,
      batchSize: 5000,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    },
  },
};

await withBenchDatabase(async ({ save, url, version }) => {
  console.log(`B2: ${rows} rows, lease form, ${rounds} rounds; ${version}`);
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const lease = { form: "lease", rows } as const;
  const loop = settings["hand-written batch loop"];
  const contenders = [
    brokerContender("intray, batches", pool, { ...lease, ...settings["intray, batches"] }),
    brokerContender("intray, one a call", pool, { ...lease, ...settings["intray, one a call"] }),
    loopContender("hand-written batch loop", pool, { ...lease, ...loop }),
    graphileContender({ name: "graphile-worker", pool, rows, url }, settings["graphile-worker"]),
    bossContender({ name: "pg-boss", pool, rows, url }, settings["pg-boss"]),
  ];
  const pairs = contenders.slice(0, 2).flatMap((ours) => {
    return contenders.slice(2).map((other) => [ours.name, other.name] as const);
  });
  try {
    const rates = await interleavedRounds(contenders, rows, rounds, async (soFar) => {
      const over: Record<string, unknown> = {};
      for (const [ours, other] of pairs) over[`${ours} / ${other}`] = compare(soFar, ours, other);
      await save({ b2: { rows, settings, over } });
    });
    for (const [ours, other] of pairs) {
      console.log(`  ${ours}: ${told(compare(rates, ours, other), other)}`);
    }
  } finally {
    await pool.end();
  }
  return {};
});
