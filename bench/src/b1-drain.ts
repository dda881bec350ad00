/**
 * B1: rows drained one handler call each, lease form, against a hand-written loop with the same statements
 * and against graphile-worker and pg-boss, as they come and at their best. `--quick` for a minute's worth, `--slots 8` for one
 * number of slots.
 */
import pg from "pg";
import { compare, interleavedRounds } from "./support/paired-rounds.ts";
import { bossContender, graphileContender } from "./support/peer-contenders.ts";
import { brokerContender } from "./support/queue-contenders.ts";
import { loopContender } from "./support/queue-loops.ts";
import { told } from "./support/report.ts";
import { withBenchDatabase } from "./support/server.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 2 : 5;
const one = process.argv.includes("--slots")
  ? Number(process.argv.at(process.argv.indexOf("--slots") + 1))
  : undefined;
const slotCounts = [1, 8, 24].filter((slots) => one === undefined || slots === one);
/** In hand at most, beside what runs: of all who fetch ahead. */
const AHEAD = 500;

function settingsOf(slots: number) {
  return {
    intray: { workers: slots },
    "intray, prefetch": { workers: slots, prefetch: AHEAD },
    "hand-written loop": { tasks: slots, claim: "one row" },
    "graphile-worker": { concurrentJobs: slots, maxPoolSize: slots + 2 },
    "graphile-worker, best": {
      concurrentJobs: slots,
      maxPoolSize: slots + 2,
      localQueue: { size: AHEAD },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
    "pg-boss": { max: slots + 2, work: { localConcurrency: slots } },
    "pg-boss, best": {
      max: slots + 2,
      queue: { partition: true },
      work: {
        localConcurrency: slots,
        batchSize: AHEAD,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
      },
    },
  };
}

await withBenchDatabase(async ({ save, url, version }) => {
  console.log(`B1: lease form, ${rounds} rounds; ${version}`);
  for (const slots of slotCounts) {
    // A round of all seven takes half a minute with these.
    const rows = isQuick ? 300 : slots === 1 ? 4_000 : 10_000;
    const pool = new pg.Pool({ connectionString: url, max: slots + 4 });
    const settings = settingsOf(slots);
    const lease = { form: "lease", rows, slots } as const;
    const peer = (name: keyof typeof settings) => ({ name, pool, rows, url });
    const contenders = [
      brokerContender("intray", pool, lease),
      brokerContender("intray, prefetch", pool, { ...lease, prefetch: AHEAD }),
      loopContender("hand-written loop", pool, lease),
      graphileContender(peer("graphile-worker"), settings["graphile-worker"]),
      graphileContender(peer("graphile-worker, best"), settings["graphile-worker, best"]),
      // A job a worker every two seconds: its timer is what is measured, and few jobs show it.
      bossContender({ ...peer("pg-boss"), rows: (isQuick ? 2 : 4) * slots }, settings["pg-boss"]),
      bossContender(peer("pg-boss, best"), settings["pg-boss, best"]),
    ];
    const others = contenders.map(({ name }) => name).slice(1);
    try {
      const rates = await interleavedRounds(contenders, rows, rounds, async (soFar) => {
        const of = others.map((other) => [other, compare(soFar, "intray", other)]);
        const slot = { rows, settings, intrayOver: Object.fromEntries(of) };
        await save({ b1: { [`slots ${slots}`]: slot } });
      });
      for (const other of others) {
        console.log(`  ${slots} slots: ${told(compare(rates, "intray", other), other)}`);
      }
    } finally {
      await pool.end();
    }
  }
  return {};
});
