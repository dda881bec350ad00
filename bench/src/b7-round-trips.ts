/**
 * B7: round trips a message at concurrency 1, counted through a proxy that adds 10 ms each way.
 * Claims are shared by the messages they bring, and are counted apart: by a run whose handler does
 * nothing but count, the claims' trips fall out of the difference between many messages and few.
 */
import pg from "pg";
import postgres from "postgres";
import { fromPg } from "../../dist/pg.mjs";
import { fromPostgresJs } from "../../dist/postgres.mjs";
import type { InboxConnectionSource } from "../../dist/queuebox.mjs";
import { DelayingProxy } from "./support/delaying-proxy.ts";
import { handmadeSource } from "./support/handmade-source.ts";
import { fillInbox, loopContender, workerContender } from "./support/inbox-contenders.ts";
import { withBenchDatabase } from "./support/server.ts";

const DELAY_MS = 10;
const ROWS = process.argv.includes("--quick") ? 40 : 100;

await withBenchDatabase(async ({ url, version }) => {
  console.log(
    `B7: ${ROWS} messages, one insert each, one at a time, ${DELAY_MS} ms each way; ${version}`,
  );
  const direct = new pg.Pool({ connectionString: url, max: 2 });
  const target = new URL(url);
  const proxy = new DelayingProxy(
    { host: target.hostname, port: Number(target.port || 5432) },
    DELAY_MS,
  );
  const far = new URL(url);
  far.port = String(await proxy.listen());
  const pool = new pg.Pool({ connectionString: far.href, max: 4 });
  const sql = postgres(far.href, { max: 4, onnotice: () => {} });
  const results: Record<string, { roundTrips: number; ms: number }> = {};
  const measure = async (name: string, run: () => Promise<unknown>) => {
    await fillInbox(direct, 2);
    // Connections and prepared statements are there when it counts.
    await run2(name);
    await fillInbox(direct, ROWS);
    const before = proxy.roundTrips;
    const startedAt = performance.now();
    await run();
    const ms = (performance.now() - startedAt) / ROWS;
    const roundTrips = (proxy.roundTrips - before) / ROWS;
    results[name] = { roundTrips, ms };
    console.log(
      `  ${name.padEnd(18)} ${roundTrips.toFixed(2)} round trips a message, claims included; ${ms.toFixed(1)} ms`,
    );
  };
  const prepare = async () => {};
  const contenders = (rows: number): Record<string, () => Promise<unknown>> => {
    const worker = (source: InboxConnectionSource) => () =>
      workerContender("", source, { rows, concurrency: 1, prepare }).run();
    return {
      "intray, pg": worker(fromPg(pool)),
      "intray, postgres.js": worker(fromPostgresJs(sql)),
      "intray, handmade": worker(handmadeSource(pool)),
      "hand-written loop": () => loopContender(pool, { rows, concurrency: 1, prepare }).run(),
    };
  };
  const warm = contenders(2);
  const run2 = async (name: string) => await warm[name]?.();
  try {
    for (const [name, run] of Object.entries(contenders(ROWS))) await measure(name, run);
    return { b7: results };
  } finally {
    await Promise.all([pool.end(), sql.end({ timeout: 1 }), direct.end()]);
    await proxy.close();
  }
});
