import type pg from "pg";
import {
  defaultSchema,
  type InboxConnectionSource,
  InboxWorker,
  inboxSql,
} from "../../../dist/queuebox.mjs";
import { inboxDdlText } from "../../../src/dialect/postgres/inbox-ddl.ts";
import type { Contender } from "./paired-rounds.ts";

export const SOURCE = "orders";
export const BATCH = 10;
export const LEASE_MS = 30_000;
const INSERT = "INSERT INTO effects (id, what) VALUES ($1, $2)";

/** An inbox of `rows` due messages, spread over many aggregates, and a table for the handlers' writes. */
export async function fillInbox(pool: pg.Pool, rows: number): Promise<void> {
  await pool.query("DROP TABLE IF EXISTS inbox, effects");
  await pool.query(inboxDdlText());
  await pool.query("CREATE TABLE effects (id uuid PRIMARY KEY, what text NOT NULL)");
  await pool.query(
    `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption, scheduled_at)
     SELECT $1, 'key-' || n, 'order-' || n % (1 + $2::int / 4), jsonb_build_object('n', n), 'pull',
       clock_timestamp() - ($2::int - n) * interval '1 millisecond'
     FROM generate_series(1, $2::int) AS n`,
    [SOURCE, rows],
  );
  await pool.query("VACUUM ANALYZE inbox");
}

/** The worker of this library, stopped when it has worked `rows` messages. */
export function workerContender(
  name: string,
  source: InboxConnectionSource,
  settings: { readonly rows: number; readonly concurrency: number; prepare(): Promise<void> },
): Contender {
  return {
    name,
    prepare: settings.prepare,
    async run() {
      const stop = new AbortController();
      let done = 0;
      const worker = new InboxWorker(source, {
        source: SOURCE,
        // As many in hand as the loop has, whose every task claims ten.
        batchSize: BATCH * settings.concurrency,
        maxConcurrency: settings.concurrency,
        leaseMs: LEASE_MS,
        // As the loop does.
        prepareStatements: true,
      });
      await worker.run(async (message, tx) => {
        await tx.query(INSERT, [message.id, "done"]);
        done += 1;
        if (done === settings.rows) stop.abort();
      }, stop.signal);
    },
  };
}

/**
 * What a careful team writes by hand: a loop with the contract's own statements. A claim of ten in a
 * transaction of its own; then, for each message, BEGIN, the insert, the completion, COMMIT. One
 * connection a task, as many tasks as the concurrency.
 */
export function loopContender(
  pool: pg.Pool,
  settings: { readonly rows: number; readonly concurrency: number; prepare(): Promise<void> },
): Contender {
  const statements = inboxSql("postgresql", defaultSchema);
  const claim = { name: "loop-claim", text: statements.claim.text };
  const complete = { name: "loop-complete", text: statements.complete.text };
  const insert = { name: "loop-insert", text: INSERT };
  return {
    name: "hand-written loop",
    prepare: settings.prepare,
    async run() {
      let done = 0;
      const task = async () => {
        const client = await pool.connect();
        try {
          while (done < settings.rows) {
            await client.query("BEGIN");
            const { rows } = await client.query({
              ...claim,
              values: [SOURCE, BATCH, LEASE_MS, 50],
            });
            await client.query("COMMIT");
            for (const row of rows) {
              await client.query("BEGIN");
              await client.query({ ...insert, values: [row.id, "done"] });
              const { rowCount } = await client.query({
                ...complete,
                values: [row.id, row.claim_token],
              });
              await client.query(rowCount === 1 ? "COMMIT" : "ROLLBACK");
              done += 1;
            }
          }
        } finally {
          client.release();
        }
      };
      await Promise.all(Array.from({ length: settings.concurrency }, task));
    },
  };
}
