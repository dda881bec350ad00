/**
 * Three ways to have one message of an aggregate in work, and the bare claim, which has not: what each
 * costs on a backlog (rates, in turns), and what each lets through on a nearly empty queue whose producers
 * commit late (counts).
 *
 *     npm run exclusivity -- --quick     under a minute
 *     npm run exclusivity                some minutes
 *     npm run exclusivity -- --rows 20000 --messages 5000 --rounds 9
 */
import { parseArgs } from "node:util";
import pg from "pg";
import { fromPg } from "../../src/driver/pg.ts";
import { ClaimLedger } from "./support/claim-ledger.ts";
import { type Protocol, protocols } from "./support/claim-protocols.ts";
import { produce, runClaimers } from "./support/claimers.ts";
import { fillInbox } from "./support/inbox-contenders.ts";
import { type Contender, compare, interleavedRounds, median } from "./support/paired-rounds.ts";
import { withBenchDatabase } from "./support/server.ts";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rows: { type: "string" },
    messages: { type: "string" },
    rounds: { type: "string" },
  },
});
const rows = Number(flags.rows ?? (flags.quick ? 1_000 : 6_000));
const messages = Number(flags.messages ?? (flags.quick ? 400 : 2_000));
const rounds = Number(flags.rounds ?? (flags.quick ? 5 : 7));
const overlapRounds = flags.quick ? 1 : rounds;
const OURS = "look again";
const PRODUCERS = 6;
const AGGREGATES = 4;

interface Counts {
  readonly messages: number;
  readonly claims: number;
  readonly empty: number;
  readonly emptyThoughFree: number;
  readonly givenBack: number;
  readonly overlaps: number;
  readonly roundTripsAClaim: number;
}

await withBenchDatabase(async ({ url, version }) => {
  const pool = new pg.Pool({ connectionString: url, max: 8 + PRODUCERS });
  try {
    const backlog: Record<string, unknown> = {};
    const late: Record<string, unknown> = {};
    for (const claimers of [2, 8]) {
      console.log(`${rows} messages waiting, ${claimers} claimers, ${rounds} rounds; ${version}`);
      backlog[claimers] = await onBacklog(pool, claimers);
      console.log(
        `${messages} messages of ${AGGREGATES} aggregates, ${PRODUCERS} late producers, ${claimers} claimers, ${overlapRounds} rounds`,
      );
      late[claimers] = await withLateProducers(pool, claimers);
    }
    return { exclusivity: { rows, messages, backlog, late } };
  } finally {
    await pool.end();
  }
});

async function onBacklog(pool: pg.Pool, claimers: number): Promise<Record<string, unknown>> {
  const source = fromPg(pool);
  const ledgers = new Map<string, ClaimLedger[]>();
  const contenders = Object.entries(protocols).map(([name, protocol]): Contender => {
    const ledgersOfIt: ClaimLedger[] = [];
    ledgers.set(name, ledgersOfIt);
    let ledger = new ClaimLedger();
    return {
      name,
      async prepare() {
        await fillInbox(pool, rows);
        ledger = await ledgerOfBacklog(pool);
        ledgersOfIt.push(ledger);
      },
      run: () => runClaimers({ source, protocol, ledger, claimers, messages: rows, workMs: 0 }),
    };
  });
  const rates = await interleavedRounds(contenders, rows, rounds);
  const found: Record<string, unknown> = {};
  for (const { name } of contenders) {
    const counts = sum(ledgers.get(name) ?? []);
    const { high, isDifferent, low, ratio } = compare(rates, OURS, name);
    const rate = median(rates.get(name) ?? []);
    found[name] = { rate, ours: { ratio, low, high, isDifferent }, ...counts };
    const against =
      name === OURS
        ? ""
        : `; ${OURS} has ${ratio.toFixed(2)} of its rate (${low.toFixed(2)} to ${high.toFixed(2)})${isDifferent ? "" : ", no difference"}`;
    console.log(`  ${name.padEnd(12)} ${rate.toFixed(0).padStart(6)}/s${against}`);
    console.log(`  ${"".padEnd(12)} ${inWords(counts)}`);
  }
  return found;
}

async function withLateProducers(pool: pg.Pool, claimers: number): Promise<Record<string, Counts>> {
  const ledgers = new Map<string, ClaimLedger[]>(Object.keys(protocols).map((name) => [name, []]));
  for (let round = 0; round < overlapRounds; round += 1) {
    for (const [name, protocol] of Object.entries(protocols)) {
      ledgers.get(name)?.push(await lateRound(pool, protocol, claimers));
    }
  }
  const found: Record<string, Counts> = {};
  for (const [name, all] of ledgers) {
    const counts = sum(all);
    found[name] = counts;
    console.log(`  ${name.padEnd(12)} ${counts.overlaps} overlaps; ${inWords(counts)}`);
  }
  return found;
}

async function lateRound(
  pool: pg.Pool,
  protocol: Protocol,
  claimers: number,
): Promise<ClaimLedger> {
  await fillInbox(pool, 0);
  const ledger = new ClaimLedger();
  const failed = new AbortController();
  const claims = runClaimers({
    source: fromPg(pool),
    protocol,
    ledger,
    claimers,
    messages,
    workMs: 4,
    signal: failed.signal,
  });
  const settings = { producers: PRODUCERS, messages, aggregates: AGGREGATES };
  const inserts = produce(pool, ledger, settings).catch((error: unknown) => {
    failed.abort();
    throw error;
  });
  await Promise.all([claims, inserts]);
  return ledger;
}

async function ledgerOfBacklog(pool: pg.Pool): Promise<ClaimLedger> {
  const ledger = new ClaimLedger();
  const found = await pool.query<{ id: string; aggregate_id: string }>(
    "SELECT id::text AS id, aggregate_id FROM inbox",
  );
  const at = performance.now();
  for (const { aggregate_id: aggregate, id } of found.rows) ledger.visible(id, aggregate, at);
  return ledger;
}

function sum(ledgers: readonly ClaimLedger[]): Counts {
  const of = (count: (ledger: ClaimLedger) => number): number =>
    ledgers.reduce((total, ledger) => total + count(ledger), 0);
  const claims = of((ledger) => ledger.claims);
  return {
    messages: of((ledger) => ledger.done),
    claims,
    empty: of((ledger) => ledger.emptyClaims),
    emptyThoughFree: of((ledger) => ledger.emptyThoughFree()),
    givenBack: of((ledger) => ledger.givenBack),
    overlaps: of((ledger) => ledger.overlaps),
    roundTripsAClaim: of((ledger) => ledger.roundTrips) / claims,
  };
}

function inWords(counts: Counts): string {
  return (
    `${counts.messages} messages in ${counts.claims} claims, ${counts.empty} empty, ` +
    `${counts.emptyThoughFree} of them though a row was free; ${counts.givenBack} given back; ` +
    `${counts.roundTripsAClaim.toFixed(2)} round trips a claim`
  );
}
