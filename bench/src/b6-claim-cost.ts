/**
 * B6: what one claim of ten reads and takes, against a backlog of growing size; and B6h, the same with
 * one hot aggregate at the head of the queue. Buffers are the figure that counts; times are beside it.
 *
 *     npm run b6 -- --quick           1,000 to 100,000 rows, a hot aggregate of 10,000
 *     npm run b6                      to 1,000,000, a hot aggregate of 100,000
 *     npm run b6 -- --max 10000000    to 10,000,000 (about 6 GB on the server's disk)
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import pg from "pg";
import { defaultSchema } from "../../src/dialect/inbox-schema.ts";
import type { InboxStatement } from "../../src/dialect/inbox-statement.ts";
import { claimStatement } from "../../src/dialect/postgres/inbox-claim.ts";
import {
  claimPastByAggregateStatement,
  claimPastInOrderStatement,
} from "../../src/dialect/postgres/inbox-claim-past.ts";
import { postgresInboxStatements } from "../../src/dialect/postgres/inbox-contract.ts";
import { aggregateIndexDdl, inboxDdl } from "../../src/dialect/postgres/inbox-ddl.ts";
import { explain, type PlanMode, planModes } from "../../test/support/explain.ts";
import { addRows, type InboxRows } from "../../test/support/inbox-rows.ts";
import { median } from "./support/paired-rounds.ts";
import { withBenchDatabase } from "./support/server.ts";

const { values: flags } = parseArgs({
  options: { quick: { type: "boolean", default: false }, max: { type: "string" } },
});
const largest = flags.quick ? 100_000 : Number(flags.max ?? 1_000_000);
const hotRows = flags.quick ? 10_000 : 100_000;
const repeats = 5;
const settings = { batchSize: 10 };

/** A worker's claim: the statement, and the one that follows where the window was full of blocked rows. */
interface Contender {
  readonly name: string;
  readonly statements: readonly InboxStatement[];
}

const claim = claimStatement(defaultSchema, settings);
const published = postgresInboxStatements(defaultSchema).claim;
const byAggregate = claimPastByAggregateStatement(defaultSchema, settings);
const inOrder = claimPastInOrderStatement(defaultSchema, settings);

interface Cost {
  readonly contender: string;
  readonly backlog: number;
  readonly plan: PlanMode;
  /** Rows claimed, of ten. */
  readonly rows: number;
  readonly buffers: number;
  /** Milliseconds of execution on the server, the median. */
  readonly ms: number;
}

await withBenchDatabase(async ({ url, version }) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    console.log(`B6: one claim of 10, flat backlog, median of ${repeats}; ${version}`);
    const flat = await flatBacklog(client);
    console.log(
      `B6h: ${hotRows} rows of one aggregate in work, then 1,000 aggregates with 10 rows each`,
    );
    const hot = await hotAggregate(client);
    return { b6: flat, b6h: hot };
  } finally {
    await client.end();
  }
});

async function flatBacklog(client: pg.Client): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (let backlog = 1_000; backlog <= largest; backlog *= 10) {
    await fill(client, false, [{ count: backlog, aggregate: `'a' || n % ${backlog / 5}` }]);
    for (const extraIndexes of [false, true]) {
      if (extraIndexes) await client.query(aggregateIndexDdl(defaultSchema));
      const suffix = extraIndexes ? ", extra index" : "";
      costs.push(
        ...(await measure(client, backlog, {
          name: `intray${suffix}`,
          statements: [claim],
        })),
        ...(await measure(client, backlog, {
          name: `published style${suffix}`,
          statements: [published],
        })),
      );
    }
  }
  return costs;
}

async function hotAggregate(client: pg.Client): Promise<Cost[]> {
  const costs: Cost[] = [];
  const behind: InboxRows = { count: 10_000, aggregate: "'b' || n % 1000", startSeconds: -600 };
  const backlog = hotRows + behind.count;
  for (const extraIndexes of [false, true]) {
    const suffix = extraIndexes ? ", extra index" : ", V10";
    await fill(client, extraIndexes, [{ count: backlog, aggregate: `'a' || n % ${backlog / 5}` }]);
    costs.push(
      ...(await measure(client, backlog, {
        name: `no hot aggregate${suffix}`,
        statements: [claim],
      })),
    );
    await fill(client, extraIndexes, [
      {
        count: 1,
        aggregate: "'hot'",
        state: "processing",
        leaseSeconds: 86_400,
        startSeconds: -7_200,
      },
      { count: hotRows, aggregate: "'hot'" },
      behind,
    ]);
    const past = extraIndexes ? byAggregate : inOrder;
    costs.push(
      ...(await measure(client, backlog, {
        name: `intray${suffix}`,
        statements: [claim, past],
      })),
      ...(await measure(client, backlog, {
        name: `published style${suffix}`,
        statements: [published],
      })),
    );
  }
  return costs;
}

/** A new table. Its keys and indexes are made after the rows: the same in a fraction of the time. */
async function fill(
  client: pg.Client,
  extraIndexes: boolean,
  parts: readonly InboxRows[],
): Promise<void> {
  const [table = "", ...indexes] = inboxDdl({ extraIndexes });
  await client.query("DROP TABLE IF EXISTS inbox");
  await client.query(table);
  await client.query("ALTER TABLE inbox SET UNLOGGED, SET (autovacuum_enabled = false)");
  await client.query(
    "ALTER TABLE inbox DROP CONSTRAINT inbox_pkey, DROP CONSTRAINT inbox_source_idempotency_key_key",
  );
  for (const rows of parts) await addRows(client, rows);
  await client.query(
    "ALTER TABLE inbox ADD PRIMARY KEY (id), ADD UNIQUE (source, idempotency_key)",
  );
  for (const index of indexes) await client.query(index);
  await client.query("VACUUM ANALYZE inbox");
}

async function measure(client: pg.Client, backlog: number, contender: Contender): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (const plan of planModes) {
    const rounds: Cost[] = [];
    for (let round = 0; round < repeats; round += 1) {
      let [rows, buffers, ms] = [0, 0, 0];
      for (const statement of contender.statements) {
        const given: Record<string, string | number> = {
          source: "orders",
          batch: 10 - rows,
          leaseMs: 30_000,
          candLimit: 50,
          token: randomUUID(),
          cursor: "",
        };
        const found = await explain(
          client,
          statement,
          statement.params.map((name) => given[name] ?? null),
          plan,
        );
        // Rows written, not rows answered: a claim of nothing answers one row all the same.
        rows += found.written;
        buffers += found.buffers;
        ms += found.executionMs;
      }
      rounds.push({ contender: contender.name, backlog, plan, rows, buffers, ms });
      // Every round was rolled back; what it left behind must not count in the next.
      await client.query("VACUUM inbox");
    }
    const middle = (of: (cost: Cost) => number): number => median(rounds.map(of));
    const cost: Cost = {
      contender: contender.name,
      backlog,
      plan,
      rows: middle((each) => each.rows),
      buffers: middle((each) => each.buffers),
      ms: Number(middle((each) => each.ms).toFixed(2)),
    };
    costs.push(cost);
    console.log(
      `  ${String(backlog).padStart(9)} rows  ${contender.name.padEnd(30)} ${plan.slice(6, -5).padEnd(8)}` +
        `${String(cost.rows).padStart(3)} claimed ${String(cost.buffers).padStart(6)} buffers ${cost.ms.toFixed(2).padStart(8)} ms`,
    );
  }
  return costs;
}
