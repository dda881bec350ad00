-- source, batch, leaseMs, token, cursor
WITH RECURSIVE live AS MATERIALIZED (
  SELECT DISTINCT i."aggregate_id" AS aggregate_id
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."aggregate_id" IS NOT NULL AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" > statement_timestamp()
), walk AS (
  SELECT 1 AS step, first.*, array_remove(ARRAY[first.aggregate_id::text], NULL) AS taken
  FROM (
    SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp() AND (i."aggregate_id" IS NULL OR i."aggregate_id" NOT IN (SELECT live.aggregate_id FROM live))
    ORDER BY i."scheduled_at", i."created_at", i."id"
    LIMIT 1
  ) AS first
  UNION ALL
  SELECT walk.step + 1, next.*, array_remove(walk.taken || next.aggregate_id::text, NULL)
  FROM walk CROSS JOIN LATERAL (
    SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp() AND (i."scheduled_at", i."created_at", i."id") > (walk.scheduled_at, walk.created_at, walk.id)
      AND (i."aggregate_id" IS NULL OR (i."aggregate_id" <> ALL (walk.taken) AND i."aggregate_id" NOT IN (SELECT live.aggregate_id FROM live)))
    ORDER BY i."scheduled_at", i."created_at", i."id"
    LIMIT 1
  ) AS next
  WHERE walk.step < 1000
), waiting AS MATERIALIZED (
  SELECT * FROM walk LIMIT 2 * $2::int
), expired AS MATERIALIZED (
  SELECT ranked.aggregate_id, ranked.scheduled_at, ranked.created_at, ranked.id
  FROM (
    SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id,
      row_number() OVER (PARTITION BY i."aggregate_id" ORDER BY i."scheduled_at", i."created_at", i."id") AS rank
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp()
  ) AS ranked
  WHERE ranked.aggregate_id IS NULL
    OR (ranked.rank = 1 AND ranked.aggregate_id NOT IN (SELECT live.aggregate_id FROM live))
), reached AS MATERIALIZED (
  SELECT count(*) < least(2 * $2::int, 1000) AS ended FROM waiting
), last AS MATERIALIZED (
  SELECT waiting.scheduled_at, waiting.created_at, waiting.id FROM waiting ORDER BY waiting.step DESC LIMIT 1
), candidate AS MATERIALIZED (
  SELECT every.id
  FROM (
    SELECT waiting.scheduled_at, waiting.created_at, waiting.id
    FROM waiting
    WHERE NOT EXISTS (
      SELECT 1 FROM expired
      WHERE expired.aggregate_id = waiting.aggregate_id AND (expired.scheduled_at, expired.created_at, expired.id) < (waiting.scheduled_at, waiting.created_at, waiting.id)
    )
    UNION ALL
    -- An expired row behind the end of the walk may have a pending one before it that was not seen.
    SELECT expired.scheduled_at, expired.created_at, expired.id
    FROM expired CROSS JOIN reached
    WHERE (reached.ended OR EXISTS (SELECT 1 FROM last WHERE (expired.scheduled_at, expired.created_at, expired.id) < (last.scheduled_at, last.created_at, last.id)))
      AND NOT EXISTS (
        SELECT 1 FROM waiting
        WHERE waiting.aggregate_id = expired.aggregate_id AND (waiting.scheduled_at, waiting.created_at, waiting.id) < (expired.scheduled_at, expired.created_at, expired.id)
      )
  ) AS every
  ORDER BY every.scheduled_at, every.created_at, every.id
), locked AS MATERIALIZED (
  SELECT row.id, row.expired
  FROM (
    SELECT candidate.id FROM candidate
    UNION ALL
    -- Further on, where others have locked what came first.
    SELECT walk.id
    FROM walk
    WHERE walk.step > (SELECT count(*) FROM waiting) AND NOT EXISTS (
      SELECT 1 FROM expired
      WHERE expired.aggregate_id = walk.aggregate_id AND (expired.scheduled_at, expired.created_at, expired.id) < (walk.scheduled_at, walk.created_at, walk.id)
    )
  ) AS stream
  CROSS JOIN LATERAL (
    SELECT i."id" AS id, i."state" = 'processing' AS expired
    FROM "inbox" AS i
    WHERE i."id" = stream.id AND ((i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp()) OR (i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp()))
    FOR UPDATE SKIP LOCKED
  ) AS row
  LIMIT $2::int
), claimed AS (
  UPDATE "inbox" AS i
  SET "state" = 'processing',
      "claim_token" = $4::uuid,
      "claimed_at" = statement_timestamp(),
      "lease_expires_at" = statement_timestamp() + $3::double precision * interval '1 millisecond'
  FROM locked
  WHERE i."id" = locked.id
  RETURNING i."source" AS source, i."idempotency_key" AS idempotency_key,
    i."aggregate_id" AS aggregate_id, i."event_type" AS event_type,
    i."correlation_id" AS correlation_id, i."payload"::text AS payload,
    i."headers"::text AS headers, i."attempt" AS attempt, locked.expired,
    i."claim_token" AS claim_token, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id,
    to_char(i."claimed_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS claimed_at
)
SELECT claimed.id::text AS id, claimed.source, claimed.idempotency_key, claimed.aggregate_id, claimed.event_type, claimed.correlation_id, claimed.payload, claimed.headers, claimed.attempt, claimed.expired, claimed.claimed_at, coalesce($5::text, '') AS cursor,
  (SELECT count(*) < $2::int FROM locked) AND (SELECT count(*) < 1000 FROM walk) AS ended
FROM (SELECT 1) AS one
LEFT JOIN claimed ON true
ORDER BY claimed.scheduled_at, claimed.created_at, claimed.id
