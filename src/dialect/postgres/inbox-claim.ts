/**
 * The claim: taking rows.
 *
 * It looks at a window: the first rows, in the order (scheduled_at, created_at, id), that are due or
 * whose lease has run out. Of each aggregate only the first is a candidate (rows without an aggregate
 * all are); one whose aggregate has a row in live work is not. The candidates are tried in order, one
 * at a time, until the batch is full: the busy probe, then the lock, which skips what another claim
 * has locked and tests the state again on the row as it is under the lock.
 *
 * What the statement alone cannot promise, one message of an aggregate in work, is completed by
 * inbox-look-again.ts. What it cannot reach, rows behind a window full of blocked aggregates, is
 * inbox-claim-past.ts.
 *
 * Measured, buffers of a claim of ten (PostgreSQL 15, the same under custom and generic plans): 199
 * before 1,000 rows, 239 before 10,000, 270 before 100,000, 290 before a million, 291 before ten: a
 * page more for each index level, in the lookups and in each of the four indexes that ten rows are
 * written to. Empty, before 200,000 rows that are due later: 5.
 *
 * The window is a literal in the text. As a parameter, a generic plan guesses a tenth of the table
 * for it and may read the whole table to sort it.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import { candidateLimit, type InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames, place } from "./inbox-names.ts";
import { instant, isoTime, milliseconds } from "./sql.ts";

/** How a worker's claims are built. */
export interface InboxClaimSettings {
  /** The largest batch that a claim is asked for; a whole number from 1. */
  readonly batchSize: number;
  /** Claiming a row whose lease had run out adds one to its attempt. Default false. */
  readonly chargeExpired?: boolean;
}

/**
 * The worker's claim. Answers, in order, `id`, `source`, `idempotency_key`, `aggregate_id`,
 * `event_type`, `correlation_id`, `payload` and `headers` (as text), `attempt` (charged already),
 * `expired` (its lease had run out), `claimed_at` (as text, to the microsecond: with it a lost COMMIT is
 * read back), and in each row `held`: how many rows the window held. Where
 * nothing was claimed there is one row with a null `id`. The window was full where `held` equals
 * {@link claimWindow}. Parameters: source, batch (at most the batchSize), leaseMs, token (a new uuid
 * for each claim).
 *
 * @throws RangeError for a batchSize that is not a whole number from 1.
 */
export function claimStatement(schema: InboxSchema, settings: InboxClaimSettings): InboxStatement {
  const names = inboxNames(schema);
  return {
    text: `WITH ${windowOfRows(names, claimWindow(settings.batchSize))},
locked AS MATERIALIZED (
  SELECT row.id, row.expired
  FROM head
  CROSS JOIN LATERAL (
    ${lockedRow(names, "head.id")}
  ) AS row
  WHERE ${notBusy(names, "head")}
  LIMIT $2::int
), claimed AS (
  ${taking(names, { token: "$4::uuid", ...settings })}
)
SELECT ${claimedRow}, counted.held
FROM (SELECT count(*)::int AS held FROM held) AS counted
LEFT JOIN claimed ON true
ORDER BY ${place("claimed")}`,
    params: ["source", "batch", "leaseMs", "token"],
  };
}

/** How many rows the window of {@link claimStatement} holds. */
export function claimWindow(batchSize: number): number {
  return candidateLimit(checkBatchSize(batchSize));
}

/** @throws RangeError for what is not a whole number from 1 to 100,000. */
export function checkBatchSize(batchSize: number): number {
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 100_000) {
    throw new RangeError(`batchSize takes a whole number from 1 to 100000, not ${batchSize}`);
  }
  return batchSize;
}

/** What a claim selects from `claimed`, in the order of the message's fields. */
export const claimedRow: string =
  `claimed.id::text AS id, claimed.source, claimed.idempotency_key, claimed.aggregate_id, ` +
  `claimed.event_type, claimed.correlation_id, claimed.payload, claimed.headers, ` +
  `claimed.attempt, claimed.expired, claimed.claimed_at`;

/**
 * `held`: the window, `most` rows of it; `head`: its candidates, in order. Merging the first rows of
 * each kind gives the first rows of both, so an aggregate's first row here is its first row at all.
 * `limit`, a parameter, makes the window smaller: the literal stays inside, for the planner's sake.
 */
export function windowOfRows(names: InboxNames, most: number, limit?: string): string {
  const { column, table } = names;
  const firstRows = (kind: "due" | "expired"): string => {
    const rows = `SELECT i.${column.aggregateId} AS aggregate_id, ${names.placed("i")}
  FROM ${table} AS i
  WHERE i.${column.source} = $1::text AND ${names[kind]("i")}
  ORDER BY ${names.order("i")}
  LIMIT ${most}`;
    return limit === undefined ? rows : `SELECT * FROM (\n  ${rows}\n  ) AS first LIMIT ${limit}`;
  };
  return `due AS MATERIALIZED (
  ${firstRows("due")}
), expired AS MATERIALIZED (
  ${firstRows("expired")}
), held AS MATERIALIZED (
  SELECT * FROM (SELECT * FROM due UNION ALL SELECT * FROM expired) AS both_kinds
  ORDER BY ${place("both_kinds")}
  LIMIT ${limit ?? most}
), head AS MATERIALIZED (
  SELECT ranked.aggregate_id, ${place("ranked")}
  FROM (
    SELECT held.*, row_number() OVER (PARTITION BY held.aggregate_id ORDER BY ${place("held")}) AS rank
    FROM held
  ) AS ranked
  WHERE ranked.rank = 1 OR ranked.aggregate_id IS NULL
  ORDER BY ${place("ranked")}
)`;
}

/**
 * The row locked, if it is still to be had. A subquery, so that candidates are locked one by one and
 * no more of them than the batch needs.
 */
export function lockedRow(names: InboxNames, id: string): string {
  const { column } = names;
  return `SELECT i.${column.id} AS id, i.${column.state} = 'processing' AS expired
    FROM ${names.table} AS i
    WHERE i.${column.id} = ${id} AND ((${names.due("i")}) OR (${names.expired("i")}))
    FOR UPDATE SKIP LOCKED`;
}

/** No row of the aggregate is in live work. The CASE keeps it a probe a candidate, as late as can be. */
export function notBusy(names: InboxNames, candidate: string): string {
  const { column } = names;
  return `CASE WHEN ${candidate}.aggregate_id IS NULL THEN true ELSE NOT EXISTS (
    SELECT 1
    FROM ${names.table} AS busy
    WHERE busy.${column.source} = $1::text
      AND busy.${column.aggregateId} = ${candidate}.aggregate_id
      AND ${names.live("busy")}
  ) END`;
}

interface TakingSettings {
  readonly token: string;
  readonly chargeExpired?: boolean;
  /** Payload and headers as they are, or as text, which no driver parses, and `claimed_at` too. Default text. */
  readonly json?: "text" | "native";
}

/** The UPDATE of what is in `locked`, answering the message and its place. */
export function taking(
  names: InboxNames,
  { token, chargeExpired = false, json = "text" }: TakingSettings,
): string {
  const { column } = names;
  const isText = json === "text";
  const cast = isText ? "::text" : "";
  // As it is stored, which need not be what was set: a trigger or the column's precision may differ.
  const claimedAt = isText ? `,\n    ${isoTime(`i.${column.claimedAt}`)} AS claimed_at` : "";
  const charge = chargeExpired
    ? `,\n      ${column.attempt} = i.${column.attempt} + CASE WHEN locked.expired THEN 1 ELSE 0 END`
    : "";
  return `UPDATE ${names.table} AS i
  SET ${column.state} = 'processing',
      ${column.claimToken} = ${token},
      ${column.claimedAt} = ${instant},
      ${column.leaseExpiresAt} = ${instant} + ${milliseconds("$3")}${charge}
  FROM locked
  WHERE i.${column.id} = locked.id
  RETURNING i.${column.source} AS source, i.${column.idempotencyKey} AS idempotency_key,
    i.${column.aggregateId} AS aggregate_id, i.${column.eventType} AS event_type,
    i.${column.correlationId} AS correlation_id, i.${column.payload}${cast} AS payload,
    i.${column.headers}${cast} AS headers, i.${column.attempt} AS attempt, locked.expired,
    i.${column.claimToken} AS claim_token, ${names.placed("i")}${claimedAt}`;
}
