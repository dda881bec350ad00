/**
 * The claim past a full window: rows behind more blocked rows than the window holds.
 *
 * A worker runs it only where the window was full and the batch did not fill. That is so when many
 * due rows at the head of the queue belong to one aggregate: one that is in work, or one whose first
 * row the claim has just taken. What is needed is the first rows of *other* aggregates, without
 * reading the hot one's. There are two ways, for two sets of indexes.
 *
 * With the extra index (source, aggregate_id, scheduled_at, created_at, id) a walk jumps from
 * aggregate to aggregate, one probe each, whatever their length. It starts where the worker's last
 * walk ended, so that the aggregates late in the alphabet get their turn.
 *
 * With V10's own indexes, a walk in due order reads on, from the head of the queue, over the rows of
 * aggregates that are busy or taken. It reads each of these rows once, so its cost grows with them.
 *
 * Both are lazy: a walk is a recursive query, of which the LIMIT above it draws no more than it needs.
 * The first candidates (twice the batch; rows without an aggregate, and those whose leases have ended,
 * a few hundred) are sorted by age; where others have locked these, the claim goes on behind them, so
 * that claims which overlap do not come back empty.
 *
 * Measured, buffers of the claim and the walk together, ten rows claimed, one aggregate of 10,000
 * (100,000) rows in work at the head: by aggregate 326 (359), in order 628 (3,763). A claim of ten
 * from as many rows without a hot aggregate: 239 (270).
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import {
  checkBatchSize,
  claimedRow,
  type InboxClaimSettings,
  lockedRow,
  taking,
} from "./inbox-claim.ts";
import { type InboxNames, inboxNames, place } from "./inbox-names.ts";
import { instant } from "./sql.ts";

/** How many aggregates (or, in due order, candidates) one walk visits at most. */
export const walkSteps = 1_000;

/**
 * The claim by aggregates, for a table with the extra index. Answers the rows as the claim does, each
 * with `cursor`, where the next walk starts, and `ended`: no aggregate is left behind the cursor, so
 * the next walk starts at the beginning (the empty string). Where nothing was claimed there is one
 * row with a null `id`. A walk that ended having started later, and filled no batch, is worth one
 * more from the beginning. Parameters: source, batch, leaseMs, token, cursor (text; "" at first).
 */
export function claimPastByAggregateStatement(
  schema: InboxSchema,
  settings: InboxClaimSettings,
): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  // How many of each kind are looked at to take the oldest. Where other claims hold all of these
  // locked, the statement goes on behind them.
  const spare = Math.max(200, 4 * checkBatchSize(settings.batchSize));
  // Ordered by the aggregate even where it is one: only the extra index gives that order, so the
  // planner cannot take the due index and filter its way through the hot aggregate.
  const walkOrder = `i.${column.aggregateId}, ${names.order("i")}`;
  // `>=` where only the same aggregate is meant, in `expired`: without statistics the planner takes `=`
  // for a handful of rows, and reads the whole aggregate through (aggregate_id, state) to sort it: 2,752
  // buffers before 100,000 rows, against 42.
  // Two words for one state, in `alone`: the partial index's predicate still follows from it, while
  // (aggregate_id, state) looks twice as dear. Without statistics the planner took that one and sorted
  // what it found: 2,957 buffers with 100,000 rows without an aggregate, against 276.
  const headFrom = (condition: string): string =>
    `SELECT i.${column.aggregateId} AS aggregate_id, ${names.placed("i")}
    FROM ${table} AS i
    WHERE i.${column.source} = $1::text AND ${names.pending("i")} AND ${condition}
    ORDER BY ${walkOrder}
    LIMIT 1`;
  const nextAlone = (condition = ""): string =>
    `SELECT ${names.placed("i")}
  FROM ${table} AS i
  WHERE i.${column.source} = $1::text AND i.${column.aggregateId} IS NULL AND i.${column.scheduledAt} <= ${instant}
    AND i.${column.consumption} = 'pull' AND i.${column.state} = ANY ('{pending,pending}')${condition}
  ORDER BY ${walkOrder}
  LIMIT ${spare}`;
  const firstOfAll = `CASE WHEN x.aggregate_id IS NULL THEN true ELSE
    ${unblocked(names, "x")}
    AND NOT EXISTS (
      SELECT 1
      FROM (
        ${headFrom(`i.${column.aggregateId} >= x.aggregate_id`)}
      ) AS first
      WHERE first.aggregate_id = x.aggregate_id AND (${place("first")}) < (${place("x")})
    )
  END`;
  return {
    text: `WITH RECURSIVE walk AS (
  SELECT 1 AS step, first.*
  FROM (
    ${headFrom(`i.${column.aggregateId} >= $5::text`)}
  ) AS first
  UNION ALL
  SELECT walk.step + 1, next.*
  FROM walk CROSS JOIN LATERAL (
    ${headFrom(`i.${column.aggregateId} > walk.aggregate_id`)}
  ) AS next
  WHERE walk.step < ${walkSteps}
), free AS MATERIALIZED (
  SELECT walk.*
  FROM walk
  WHERE CASE WHEN walk.scheduled_at <= ${instant} THEN ${unblocked(names, "walk")} ELSE false END
  LIMIT 2 * $2::int
), alone AS MATERIALIZED (
  ${nextAlone()}
), alone_further AS (
  SELECT 0 AS chunk, ${spare} AS nth, ${place("last")}
  FROM (SELECT * FROM alone ORDER BY ${placeBackward("alone")} LIMIT 1) AS last
  WHERE (SELECT count(*) FROM alone) = ${spare}
  UNION ALL
  SELECT alone_further.chunk + 1, next.*
  FROM alone_further CROSS JOIN LATERAL (
    SELECT (row_number() OVER (ORDER BY ${place("chunk")}))::int AS nth, ${place("chunk")}
    FROM (
      ${nextAlone(`
    AND (${names.order("i")}) > (${place("alone_further")})`)}
    ) AS chunk
  ) AS next
  WHERE alone_further.nth = ${spare}
), ended_lease AS MATERIALIZED (
  SELECT i.${column.aggregateId} AS aggregate_id, ${names.placed("i")},
    row_number() OVER (ORDER BY ${names.order("i")}) AS nth
  FROM ${table} AS i
  WHERE i.${column.source} = $1::text AND ${names.expired("i")}
), expired AS MATERIALIZED (
  SELECT x.nth, ${place("x")}
  FROM ended_lease AS x
  WHERE ${firstOfAll}
  LIMIT ${spare}
), candidate AS MATERIALIZED (
  SELECT every.*
  FROM (
    SELECT ${place("free")}, free.step FROM free
    UNION ALL SELECT ${place("alone")}, NULL FROM alone
    UNION ALL SELECT ${place("expired")}, NULL FROM expired
  ) AS every
  ORDER BY ${place("every")}
), locked AS MATERIALIZED (
  SELECT row.id, row.expired, stream.step
  FROM (
    SELECT candidate.id, candidate.step FROM candidate
    -- Further on, where others have locked what came first.
    UNION ALL
    SELECT alone_further.id, NULL FROM alone_further WHERE alone_further.chunk > 0
    UNION ALL
    SELECT x.id, NULL
    FROM ended_lease AS x
    WHERE CASE WHEN x.nth > (SELECT CASE count(*) WHEN ${spare} THEN max(expired.nth) END FROM expired)
      THEN ${firstOfAll} ELSE false END
    UNION ALL
    SELECT walk.id, walk.step
    FROM walk
    WHERE CASE WHEN walk.step > (SELECT max(free.step) FROM free) AND walk.scheduled_at <= ${instant}
      THEN ${unblocked(names, "walk")} ELSE false END
  ) AS stream
  CROSS JOIN LATERAL (
    ${lockedRow(names, "stream.id")}
  ) AS row
  LIMIT $2::int
), claimed AS (
  ${taking(names, { token: "$4::uuid", ...settings })}
), reached AS MATERIALIZED (
  -- Reading the walk drives it on, so it is read to its end only where it has got there already.
  SELECT
    filled.batch,
    CASE WHEN filled.batch THEN (SELECT max(locked.step) FROM locked)
      ELSE (SELECT max(walk.step) FROM walk) END AS step
  FROM (SELECT count(*) = $2::int AS batch FROM locked) AS filled
)
SELECT ${claimedRow},
  coalesce((SELECT walk.aggregate_id FROM walk WHERE walk.step = reached.step LIMIT 1), $5::text) AS cursor,
  NOT reached.batch AND coalesce(reached.step, 0) < ${walkSteps} AS ended
FROM reached
LEFT JOIN claimed ON true
ORDER BY ${place("claimed")}`,
    params: ["source", "batch", "leaseMs", "token", "cursor"],
  };
}

/**
 * The claim in due order, for a table with V10's indexes alone. Answers the rows as the claim does,
 * each with `cursor` (always empty: this walk starts at the head) and `ended`: it has seen all that
 * is due. Parameters: source, batch, leaseMs, token, cursor (not used; the same list as the other's).
 */
export function claimPastInOrderStatement(
  schema: InboxSchema,
  settings: InboxClaimSettings,
): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  checkBatchSize(settings.batchSize);
  const nextDue = (condition: string): string =>
    `SELECT i.${column.aggregateId} AS aggregate_id, ${names.placed("i")}
    FROM ${table} AS i
    WHERE i.${column.source} = $1::text AND ${names.due("i")} AND ${condition}
    ORDER BY ${names.order("i")}
    LIMIT 1`;
  const notLive = `i.${column.aggregateId} NOT IN (SELECT live.aggregate_id FROM live)`;
  return {
    text: `WITH RECURSIVE live AS MATERIALIZED (
  SELECT DISTINCT i.${column.aggregateId} AS aggregate_id
  FROM ${table} AS i
  WHERE i.${column.source} = $1::text AND i.${column.aggregateId} IS NOT NULL AND ${names.live("i")}
), walk AS (
  SELECT 1 AS step, first.*, array_remove(ARRAY[first.aggregate_id::text], NULL) AS taken
  FROM (
    ${nextDue(`(i.${column.aggregateId} IS NULL OR ${notLive})`)}
  ) AS first
  UNION ALL
  SELECT walk.step + 1, next.*, array_remove(walk.taken || next.aggregate_id::text, NULL)
  FROM walk CROSS JOIN LATERAL (
    ${nextDue(
      `(${names.order("i")}) > (${place("walk")})
      AND (i.${column.aggregateId} IS NULL OR (i.${column.aggregateId} <> ALL (walk.taken) AND ${notLive}))`,
    )}
  ) AS next
  WHERE walk.step < ${walkSteps}
), waiting AS MATERIALIZED (
  SELECT * FROM walk LIMIT 2 * $2::int
), expired AS MATERIALIZED (
  SELECT ranked.aggregate_id, ${place("ranked")}
  FROM (
    SELECT i.${column.aggregateId} AS aggregate_id, ${names.placed("i")},
      row_number() OVER (PARTITION BY i.${column.aggregateId} ORDER BY ${names.order("i")}) AS rank
    FROM ${table} AS i
    WHERE i.${column.source} = $1::text AND ${names.expired("i")}
  ) AS ranked
  WHERE ranked.aggregate_id IS NULL
    OR (ranked.rank = 1 AND ranked.aggregate_id NOT IN (SELECT live.aggregate_id FROM live))
), reached AS MATERIALIZED (
  SELECT count(*) < least(2 * $2::int, ${walkSteps}) AS ended FROM waiting
), last AS MATERIALIZED (
  SELECT ${place("waiting")} FROM waiting ORDER BY waiting.step DESC LIMIT 1
), candidate AS MATERIALIZED (
  SELECT every.id
  FROM (
    SELECT ${place("waiting")}
    FROM waiting
    WHERE ${notBehindExpired("waiting")}
    UNION ALL
    -- An expired row behind the end of the walk may have a pending one before it that was not seen.
    SELECT ${place("expired")}
    FROM expired CROSS JOIN reached
    WHERE (reached.ended OR EXISTS (SELECT 1 FROM last WHERE (${place("expired")}) < (${place("last")})))
      AND NOT EXISTS (
        SELECT 1 FROM waiting
        WHERE waiting.aggregate_id = expired.aggregate_id AND (${place("waiting")}) < (${place("expired")})
      )
  ) AS every
  ORDER BY ${place("every")}
), locked AS MATERIALIZED (
  SELECT row.id, row.expired
  FROM (
    SELECT candidate.id FROM candidate
    UNION ALL
    -- Further on, where others have locked what came first.
    SELECT walk.id
    FROM walk
    WHERE walk.step > (SELECT count(*) FROM waiting) AND ${notBehindExpired("walk")}
  ) AS stream
  CROSS JOIN LATERAL (
    ${lockedRow(names, "stream.id")}
  ) AS row
  LIMIT $2::int
), claimed AS (
  ${taking(names, { token: "$4::uuid", ...settings })}
)
SELECT ${claimedRow}, coalesce($5::text, '') AS cursor,
  (SELECT count(*) < $2::int FROM locked) AND (SELECT count(*) < ${walkSteps} FROM walk) AS ended
FROM (SELECT 1) AS one
LEFT JOIN claimed ON true
ORDER BY ${place("claimed")}`,
    params: ["source", "batch", "leaseMs", "token", "cursor"],
  };
}

/** No row of `expired`, of the same aggregate, comes before this one. */
function notBehindExpired(candidate: string): string {
  return `NOT EXISTS (
      SELECT 1 FROM expired
      WHERE expired.aggregate_id = ${candidate}.aggregate_id AND (${place("expired")}) < (${place(candidate)})
    )`;
}

/** No row of the aggregate is in live work, and none with an expired lease comes before this one. */
function unblocked(names: InboxNames, candidate: string): string {
  const { column } = names;
  return `NOT EXISTS (
    SELECT 1
    FROM ${names.table} AS busy
    WHERE busy.${column.source} = $1::text
      AND busy.${column.aggregateId} = ${candidate}.aggregate_id
      AND ${names.processing("busy")}
      AND (
        busy.${column.leaseExpiresAt} > ${instant}
        OR (${names.order("busy")}) < (${place(candidate)})
      )
  )`;
}

/** The last place first. */
function placeBackward(alias: string): string {
  return `${alias}.scheduled_at DESC, ${alias}.created_at DESC, ${alias}.id DESC`;
}
