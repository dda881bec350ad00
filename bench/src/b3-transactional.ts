/**
 * B3: a QueueBox inbox drained transactionally, each handler inserting one row, against a hand-written
 * loop with the contract's statements. `--quick` for a minute's worth.
 */
import pg from "pg";
import { fromPg } from "../../dist/pg.mjs";
import { fillInbox, loopContender, workerContender } from "./support/inbox-contenders.ts";
import { type PairedResult, pairedRounds } from "./support/paired-rounds.ts";
import { withBenchDatabase } from "./support/server.ts";

const isQuick = process.argv.includes("--quick");
const rows = isQuick ? 2_000 : 10_000;
const rounds = isQuick ? 5 : 7;

await withBenchDatabase(async ({ url, version }) => {
  console.log(`B3: ${rows} messages, one insert each, ${rounds} rounds; ${version}`);
  const results: Record<string, PairedResult> = {};
  for (const concurrency of [1, 8, 16]) {
    const max = concurrency + 4;
    const pool = new pg.Pool({ connectionString: url, max });
    try {
      const settings = { rows, concurrency, prepare: () => fillInbox(pool, rows) };
      const worker = workerContender("intray", fromPg(pool), settings);
      const result = await pairedRounds([worker, loopContender(pool, settings)], rows, rounds);
      results[concurrency] = result;
      const rates = Object.entries(result.rates).map(
        ([name, rate]) => `${name} ${rate.toFixed(0)}/s`,
      );
      console.log(
        `  ${String(concurrency).padStart(2)} at once: ${result.ratio.toFixed(2)} of the loop ` +
          `(${result.low.toFixed(2)} to ${result.high.toFixed(2)})${result.isDifferent ? "" : ", no difference"}; ${rates.join(", ")}`,
      );
    } finally {
      await pool.end();
    }
  }
  return { b3: results };
});
