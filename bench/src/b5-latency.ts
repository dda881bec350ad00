/**
 * B5: from the answer to an insert's commit to the start of its handler, at 100 messages a second; and what
 * an idle worker asks of the database. `--quick` for a minute's worth.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import pg from "pg";
import { median } from "./support/paired-rounds.ts";
import { withBenchDatabase } from "./support/server.ts";
import type { ProducerTask } from "./support/steady-producer.ts";
import {
  bossWaiter,
  brokerWaiter,
  graphileWaiter,
  type Waiter,
} from "./support/waking-contenders.ts";

const isQuick = process.argv.includes("--quick");
const messages = isQuick ? 200 : 1_000;
const rounds = isQuick ? 1 : 5;
const idleMs = isQuick ? 3_000 : 15_000;
const EVERY_MS = 10;

interface Round {
  readonly p50: number;
  readonly p99: number;
}

await withBenchDatabase(async ({ save, url, version }) => {
  console.log(`B5: ${messages} messages, one every ${EVERY_MS} ms, ${rounds} rounds; ${version}`);
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const server = process.env.DATABASE_URL ?? "postgres://root@127.0.0.1:5432/postgres";
  const outside = new pg.Client({ connectionString: server });
  await outside.connect();
  const waiters = [
    brokerWaiter("intray", pool, "lease", { listenNotify: true }),
    brokerWaiter("intray, row lock", pool, "row lock", { listenNotify: true }),
    graphileWaiter(pool, url),
    bossWaiter(pool, url),
    brokerWaiter("intray, polling alone", pool, "lease", {}),
  ];
  const measured = new Map<string, Round[]>(waiters.map(({ name }) => [name, []]));
  const idle = new Map<string, number>();
  try {
    for (let round = 0; round < rounds; round += 1) {
      const first = round % waiters.length;
      for (const waiter of [...waiters.slice(first), ...waiters.slice(0, first)]) {
        const startedAt: number[] = [];
        const gone = Promise.withResolvers<void>();
        let left = messages;
        const stop = await waiter.start((n) => {
          startedAt[n] = performance.timeOrigin + performance.now();
          left -= 1;
          if (left === 0) gone.resolve();
        });
        const answeredAt = await produce({
          url,
          messages,
          everyMs: EVERY_MS,
          insert: waiter.insert,
        });
        await gone.promise;
        measured
          .get(waiter.name)
          ?.push(quantiles(answeredAt.map((at, n) => (startedAt[n] ?? 0) - at)));
        if (!idle.has(waiter.name)) idle.set(waiter.name, await idleLoad(outside, url));
        await stop();
        await save({
          b5: { messages, everyMs: EVERY_MS, waiters: results(waiters, measured, idle) },
        });
      }
    }
  } finally {
    await outside.end();
    await pool.end();
  }
  for (const [name, one] of Object.entries(results(waiters, measured, idle))) {
    console.log(
      `  ${name.padEnd(22)} p50 ${one.p50.toFixed(2)} ms, p99 ${one.p99.toFixed(2)} ms, idle ${one.idlePerSecond?.toFixed(1)} transactions/s; p50 of graphile-worker's: ${one.ofGraphile.join(", ")}`,
    );
  }
  return {};
});

function results(
  waiters: readonly Waiter[],
  measured: ReadonlyMap<string, readonly Round[]>,
  idle: ReadonlyMap<string, number>,
) {
  const graphile = measured.get("graphile-worker") ?? [];
  const entries = waiters.map(({ name, settings }) => {
    const each = measured.get(name) ?? [];
    const ofGraphile = each.flatMap(({ p50 }, round) => {
      const its = graphile[round]?.p50;
      return its === undefined ? [] : [Number((p50 / its).toFixed(2))];
    });
    const one = {
      settings,
      p50: median(each.map(({ p50 }) => p50)),
      p99: median(each.map(({ p99 }) => p99)),
      ofGraphile,
      rounds: each,
      idlePerSecond: idle.get(name),
    };
    return [name, one] as const;
  });
  return Object.fromEntries(entries);
}

function produce(task: ProducerTask): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const producer = new Worker(new URL("./support/steady-producer.ts", import.meta.url), {
      workerData: task,
    });
    producer.once("message", resolve);
    producer.once("error", reject);
  });
}

function quantiles(values: readonly number[]): Round {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Transactions a second that a waiter without messages asks for, counted by the server. */
async function idleLoad(outside: pg.Client, url: string): Promise<number> {
  const name = new URL(url).pathname.slice(1);
  const count = async () => {
    const { rows } = await outside.query<{ count: number }>(
      "SELECT (xact_commit + xact_rollback)::float8 AS count FROM pg_stat_database WHERE datname = $1",
      [name],
    );
    return rows[0]?.count ?? 0;
  };
  // Until what was worked has been counted: idle sessions report after ten seconds.
  await sleep(isQuick ? 2_000 : 11_000);
  const before = await count();
  await sleep(idleMs);
  return ((await count()) - before) / (idleMs / 1000);
}
