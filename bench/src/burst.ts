/**
 * A burst after an idle night: sessions that have polled an empty table keep the plan that the server made
 * for it. What a claim and its acknowledgement take once 100,000 rows have come, before and after somebody
 * has analyzed the table. `--quick` for a tenth of the rows.
 */
import pg from "pg";
import { postgresDialect, type Statement } from "../../dist/index.mjs";
import { median } from "./support/paired-rounds.ts";
import { fillTable, QUEUE, tables } from "./support/queue-tables.ts";
import { withBenchDatabase } from "./support/server.ts";

const rows = process.argv.includes("--quick") ? 10_000 : 100_000;
const TIMES = 10;
const BUILDERS = {
  "row lock": "rowLock",
  lease: "lease",
  "advisory lock": "advisoryLock",
} as const;

interface Claimed {
  readonly id: string;
  readonly token: string | null;
  readonly attempt: string;
}

await withBenchDatabase(async ({ save, url, version }) => {
  console.log(`A burst of ${rows} rows after an empty table; ${version}`);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  try {
    for (const [form, builder] of Object.entries(BUILDERS) as [keyof typeof BUILDERS, "lease"][]) {
      await fillTable(pool, form, 0);
      await pool.query("ALTER TABLE jobs SET (autovacuum_enabled = false)");
      const { description } = tables[form];
      const columns = description.columns.filter(({ property }) => property === "payload");
      const settings = { columns, groups: "one", mostRows: 4, leaseMs: 30_000 } as const;
      const statements = postgresDialect[builder]?.(description, settings);
      if (statements === undefined) throw new Error(`the dialect does not build ${form}`);
      const client = await pool.connect();
      const turn = () => turnOn(client, form, statements);
      try {
        for (let times = 0; times < TIMES; times += 1) await turn();
        await pool.query(
          "INSERT INTO jobs (queue, payload) SELECT $1, '{}' FROM generate_series(1, $2::int)",
          [QUEUE, rows],
        );
        const before = await timed(turn);
        await pool.query("ANALYZE jobs");
        const after = await timed(turn);
        console.log(
          `  ${form.padEnd(13)} claim ${before.claim.toFixed(1)} ms, acknowledgement ${before.ack.toFixed(1)} ms; analyzed: ${after.claim.toFixed(1)} ms, ${after.ack.toFixed(1)} ms`,
        );
        await save({ burst: { rows, [form]: { before, after } } });
      } finally {
        client.release(true);
      }
    }
  } finally {
    await pool.end();
  }
  return {};
});

async function timed(turn: () => Promise<{ claim: number; ack: number }>) {
  const turns: { claim: number; ack: number }[] = [];
  for (let times = 0; times < TIMES; times += 1) turns.push(await turn());
  return {
    claim: median(turns.map(({ claim }) => claim)),
    ack: median(turns.map(({ ack }) => ack)),
  };
}

async function turnOn(
  client: pg.PoolClient,
  form: string,
  { ack, claim }: { readonly claim: Statement; readonly ack: Statement },
): Promise<{ claim: number; ack: number }> {
  const run = async (name: string, { params, text }: Statement, given: Record<string, unknown>) => {
    const values = params.map((param) => given[param]);
    const startedAt = performance.now();
    const { rows } = await client.query<Claimed & pg.QueryResultRow>({
      name: `${form} ${name}`,
      text,
      values,
    });
    return { ms: performance.now() - startedAt, rows };
  };
  await client.query("BEGIN");
  const claimed = await run("claim", claim, { limit: 1, leaseMs: 30_000, group: QUEUE });
  const fence = {
    ids: claimed.rows.map(({ id }) => id),
    tokens: claimed.rows.map(({ token }) => token),
    attempts: claimed.rows.map(({ attempt }) => attempt),
  };
  const acked = await run("ack", ack, fence);
  await client.query("COMMIT");
  return { claim: claimed.ms, ack: acked.ms };
}
