import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Connection, ConnectionSource } from "../../../src/driver/connection.ts";
import type { ClaimLedger } from "./claim-ledger.ts";
import { type BenchRow, type ClaimOutcome, complete, type Protocol } from "./claim-protocols.ts";

/** How long a claimer waits after an empty claim. */
const POLL_MS = 2;

export interface ClaimersSettings {
  readonly source: ConnectionSource;
  readonly protocol: Protocol;
  readonly ledger: ClaimLedger;
  /** How many loops, each on a connection of its own. */
  readonly claimers: number;
  /** They end when so many messages are done. */
  readonly messages: number;
  /** A message takes up to so many milliseconds of work. */
  readonly workMs: number;
  /** They end at once: there will be no more messages. */
  readonly signal?: AbortSignal;
}

/** Loops of claim, work (all of a claim's messages side by side), completion. */
export async function runClaimers(settings: ClaimersSettings): Promise<void> {
  const { claimers, source } = settings;
  await Promise.all(
    Array.from({ length: claimers }, async () => {
      const connection = await source.connect();
      try {
        await claimLoop(connection, settings);
      } finally {
        await connection.release();
      }
    }),
  );
}

async function claimLoop(
  connection: Connection,
  { ledger, messages, protocol, signal, workMs }: ClaimersSettings,
): Promise<void> {
  while (ledger.done < messages && !signal?.aborted) {
    const from = performance.now();
    const outcome = await protocol(connection);
    const to = performance.now();
    enter(ledger, outcome, from, to);
    if (outcome.kept.length > 0) {
      await Promise.all(outcome.kept.map((row) => work(ledger, row, workMs)));
      await complete(connection, outcome);
      const at = performance.now();
      for (const { id } of outcome.kept) ledger.freed(id, at);
    }
    const pauseMs = outcome.givenBack.length > 0 ? 5 + 45 * Math.random() : POLL_MS;
    const leftMs = to + pauseMs - performance.now();
    const isToWait = outcome.kept.length === 0 || outcome.givenBack.length > 0;
    if (isToWait && leftMs > 0) await sleep(leftMs);
  }
}

function enter(ledger: ClaimLedger, outcome: ClaimOutcome, from: number, to: number): void {
  ledger.claims += 1;
  ledger.roundTrips += outcome.roundTrips;
  ledger.givenBack += outcome.givenBack.length;
  for (const row of outcome.kept) ledger.claimed(row.id, aggregateOf(row), from);
  for (const row of outcome.givenBack) {
    ledger.claimed(row.id, aggregateOf(row), from);
    ledger.freed(row.id, to);
  }
  if (outcome.kept.length + outcome.givenBack.length === 0) ledger.claimedNothing(from, to);
}

async function work(ledger: ClaimLedger, row: BenchRow, workMs: number): Promise<void> {
  const aggregate = aggregateOf(row);
  ledger.started(aggregate);
  if (workMs > 0) await sleep(workMs * Math.random());
  ledger.ended(aggregate);
}

/** Rows without an aggregate would be nobody's. */
export function aggregateOf({ aggregate_id: aggregate }: BenchRow): string {
  if (aggregate === null) throw new Error("the benchmark's rows all have an aggregate");
  return aggregate;
}

/**
 * Producers that hold each insert open for up to 8 ms, so that an earlier row often becomes visible after a
 * later one. They hold back while the queue is not nearly empty.
 */
export async function produce(
  pool: pg.Pool,
  ledger: ClaimLedger,
  settings: { readonly producers: number; readonly messages: number; readonly aggregates: number },
): Promise<void> {
  let begun = 0;
  const producer = async () => {
    const client = await pool.connect();
    try {
      while (begun < settings.messages) {
        if (begun - ledger.done > 2 * settings.aggregates) {
          await sleep(1);
          continue;
        }
        begun += 1;
        const key = `key-${begun}`;
        const aggregate = `hot-${Math.floor(settings.aggregates * Math.random())}`;
        await client.query("BEGIN");
        const { rows } = await client.query<{ id: string }>({
          name: "produce",
          text: `INSERT INTO inbox (source, idempotency_key, aggregate_id, payload, consumption)
            VALUES ('orders', $1, $2, '{}', 'pull') RETURNING id::text AS id`,
          values: [key, aggregate],
        });
        await sleep(8 * Math.random());
        await client.query("COMMIT");
        for (const { id } of rows) ledger.visible(id, aggregate, performance.now());
      }
    } finally {
      client.release();
    }
  };
  await Promise.all(Array.from({ length: settings.producers }, producer));
}
