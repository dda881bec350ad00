/**
 * Ways to claim so that one message of an aggregate is in work: three that keep that, and the bare
 * claim, which does not and shows that the others are needed. All run the same claim statement.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { bind } from "../../../src/dialect/bind.ts";
import { defaultSchema } from "../../../src/dialect/inbox-schema.ts";
import {
  claimStatement,
  claimWindow,
  notBusy,
  windowOfRows,
} from "../../../src/dialect/postgres/inbox-claim.ts";
import { releaseAllStatement } from "../../../src/dialect/postgres/inbox-lease.ts";
import { lookAgainStatement } from "../../../src/dialect/postgres/inbox-look-again.ts";
import { inboxNames } from "../../../src/dialect/postgres/inbox-names.ts";
import { beginReadCommitted } from "../../../src/dialect/postgres/transactions.ts";
import type { Connection, Step } from "../../../src/driver/connection.ts";
import { runSteps } from "../../../src/driver/run-steps.ts";

export const BATCH = 10;
const SOURCE = "orders";
const LEASE_MS = 30_000;

export interface BenchRow {
  readonly id: string;
  readonly aggregate_id: string | null;
}

export interface ClaimOutcome {
  readonly token: string;
  /** May be worked. */
  readonly kept: readonly BenchRow[];
  readonly givenBack: readonly BenchRow[];
  readonly roundTrips: number;
}

/** Claims once on a connection. */
export type Protocol = (connection: Connection) => Promise<ClaimOutcome>;

const names = inboxNames(defaultSchema);
/** So wide that the rows which seven other claims have locked do not fill it: a worker walks past such. */
const WINDOW_BATCH = 3 * BATCH;
const claim = claimStatement(defaultSchema, { batchSize: WINDOW_BATCH });
const lookAgain = lookAgainStatement(defaultSchema);
const releaseAll = releaseAllStatement(defaultSchema);

const lockSource = {
  text: "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))",
  params: ["source"],
};

/** Tries to lock the aggregates of the rows that a claim would take, and leaves word of those it got. */
const lockAggregates = {
  text: `WITH ${windowOfRows(names, claimWindow(WINDOW_BATCH))},
tried AS MATERIALIZED (
  SELECT head.aggregate_id
  FROM head
  WHERE CASE
    WHEN head.aggregate_id IS NULL THEN true
    WHEN ${notBusy(names, "head")}
      THEN pg_try_advisory_xact_lock(hashtextextended($1::text || chr(31) || head.aggregate_id, 0))
    ELSE false
  END
  LIMIT $2::int
)
SELECT set_config('bench.locked', coalesce(array_agg(tried.aggregate_id::text), '{}')::text, true)
FROM tried
WHERE tried.aggregate_id IS NOT NULL`,
  params: ["source", "batch"],
};

/** The claim, of aggregates that the transaction has locked. */
const claimLocked = {
  ...claim,
  text: replacedOnce(
    claim.text,
    "  WHERE CASE WHEN head.aggregate_id IS NULL",
    `  WHERE (head.aggregate_id IS NULL OR head.aggregate_id = ANY (current_setting('bench.locked')::text[]))
    AND CASE WHEN head.aggregate_id IS NULL`,
  ),
};

const values = { source: SOURCE, batch: BATCH, leaseMs: LEASE_MS };

export const protocols: Readonly<Record<string, Protocol>> = {
  "look again": async (connection) => {
    const outcome = await claimWith(connection, []);
    const keyed = outcome.kept.filter(({ aggregate_id }) => aggregate_id !== null);
    if (keyed.length === 0) return outcome;
    const ids = listOf(keyed.map(({ id }) => id));
    const { token } = outcome;
    const found = await runSteps<{ id: string }>(connection, [bind(lookAgain, { ids, token })]);
    const shared = new Set(found[0]?.rows.map(({ id }) => id));
    if (shared.size === 0) return { ...outcome, roundTrips: 2 };
    const givenBack = keyed.filter(({ id }) => shared.has(id));
    const kept = outcome.kept.filter(({ id }) => !shared.has(id));
    const releases = await giveBack(connection, givenBack, token);
    return { token, kept, givenBack, roundTrips: 2 + releases };
  },
  "source lock": (connection) => claimWith(connection, [bind(lockSource, values)]),
  "try-locks": (connection) => claimWith(connection, [bind(lockAggregates, values)], claimLocked),
  "bare claim": (connection) => claimWith(connection, []),
};

/**
 * As the worker does it: a row that a claim beside it has locked for a moment is skipped, and tried again.
 * Answers how many statements it took.
 */
async function giveBack(
  connection: Connection,
  rows: readonly BenchRow[],
  token: string,
): Promise<number> {
  let left = rows;
  for (let tries = 1; ; tries += 1) {
    const release = bind(releaseAll, {
      ids: listOf(left.map(({ id }) => id)),
      tokens: listOf(left.map(() => token)),
      charges: listOf(left.map(() => "0")),
    });
    const [result] = await runSteps<{ id: string }>(connection, [release]);
    const released = new Set(result?.rows.map(({ id }) => id));
    left = left.filter(({ id }) => !released.has(id));
    if (left.length === 0) return tries;
    await sleep(Math.min(320, 10 * 2 ** tries));
  }
}

/** One flush: BEGIN, what goes before the claim in its transaction, the claim, COMMIT. */
async function claimWith(
  connection: Connection,
  before: readonly Step[],
  statement = claim,
): Promise<ClaimOutcome> {
  const token = randomUUID();
  const results = await runSteps<BenchRow | { id: null }>(connection, [
    beginReadCommitted,
    ...before,
    bind(statement, { ...values, token }),
    { kind: "commit" },
  ]);
  const rows = results[1 + before.length]?.rows ?? [];
  return { token, kept: rows.filter((row) => row.id !== null), givenBack: [], roundTrips: 1 };
}

/** The rows of a claim are done, in one statement whatever the protocol. */
export async function complete(connection: Connection, outcome: ClaimOutcome): Promise<void> {
  const [result] = await runSteps(connection, [
    {
      kind: "query",
      text: `UPDATE inbox SET state = 'processed', processed_at = clock_timestamp(), claim_token = NULL, lease_expires_at = NULL
        WHERE id = ANY ($1::text::uuid[]) AND claim_token = $2::uuid AND state = 'processing' AND consumption = 'pull'`,
      params: [listOf(outcome.kept.map(({ id }) => id)), outcome.token],
      prepare: true,
    },
  ]);
  if (result?.rowCount !== outcome.kept.length) throw new Error("a claimed row was not completed");
}

function listOf(values: readonly string[]): string {
  return `{${values.join(",")}}`;
}

function replacedOnce(text: string, what: string, by: string): string {
  if (text.split(what).length !== 2) throw new Error("the claim's text has changed: look here");
  return text.replace(what, () => by);
}
