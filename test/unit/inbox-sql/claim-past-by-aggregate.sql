-- source, batch, leaseMs, token, cursor
WITH RECURSIVE walk AS (
  SELECT 1 AS step, first.*
  FROM (
    SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."aggregate_id" >= $5::text
    ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
    LIMIT 1
  ) AS first
  UNION ALL
  SELECT walk.step + 1, next.*
  FROM walk CROSS JOIN LATERAL (
    SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."aggregate_id" > walk.aggregate_id
    ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
    LIMIT 1
  ) AS next
  WHERE walk.step < 1000
), free AS MATERIALIZED (
  SELECT walk.*
  FROM walk
  WHERE CASE WHEN walk.scheduled_at <= statement_timestamp() THEN NOT EXISTS (
    SELECT 1
    FROM "inbox" AS busy
    WHERE busy."source" = $1::text
      AND busy."aggregate_id" = walk.aggregate_id
      AND busy."consumption" = 'pull' AND busy."state" = 'processing'
      AND (
        busy."lease_expires_at" > statement_timestamp()
        OR (busy."scheduled_at", busy."created_at", busy."id") < (walk.scheduled_at, walk.created_at, walk.id)
      )
  ) ELSE false END
  LIMIT 2 * $2::int
), alone AS MATERIALIZED (
  SELECT i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."aggregate_id" IS NULL AND i."scheduled_at" <= statement_timestamp()
    AND i."consumption" = 'pull' AND i."state" = ANY ('{pending,pending}')
  ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
  LIMIT 200
), alone_further AS (
  SELECT 0 AS chunk, 200 AS nth, last.scheduled_at, last.created_at, last.id
  FROM (SELECT * FROM alone ORDER BY alone.scheduled_at DESC, alone.created_at DESC, alone.id DESC LIMIT 1) AS last
  WHERE (SELECT count(*) FROM alone) = 200
  UNION ALL
  SELECT alone_further.chunk + 1, next.*
  FROM alone_further CROSS JOIN LATERAL (
    SELECT (row_number() OVER (ORDER BY chunk.scheduled_at, chunk.created_at, chunk.id))::int AS nth, chunk.scheduled_at, chunk.created_at, chunk.id
    FROM (
      SELECT i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."aggregate_id" IS NULL AND i."scheduled_at" <= statement_timestamp()
    AND i."consumption" = 'pull' AND i."state" = ANY ('{pending,pending}')
    AND (i."scheduled_at", i."created_at", i."id") > (alone_further.scheduled_at, alone_further.created_at, alone_further.id)
  ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
  LIMIT 200
    ) AS chunk
  ) AS next
  WHERE alone_further.nth = 200
), ended_lease AS MATERIALIZED (
  SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id,
    row_number() OVER (ORDER BY i."scheduled_at", i."created_at", i."id") AS nth
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp()
), expired AS MATERIALIZED (
  SELECT x.nth, x.scheduled_at, x.created_at, x.id
  FROM ended_lease AS x
  WHERE CASE WHEN x.aggregate_id IS NULL THEN true ELSE
    NOT EXISTS (
    SELECT 1
    FROM "inbox" AS busy
    WHERE busy."source" = $1::text
      AND busy."aggregate_id" = x.aggregate_id
      AND busy."consumption" = 'pull' AND busy."state" = 'processing'
      AND (
        busy."lease_expires_at" > statement_timestamp()
        OR (busy."scheduled_at", busy."created_at", busy."id") < (x.scheduled_at, x.created_at, x.id)
      )
  )
    AND NOT EXISTS (
      SELECT 1
      FROM (
        SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."aggregate_id" >= x.aggregate_id
    ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
    LIMIT 1
      ) AS first
      WHERE first.aggregate_id = x.aggregate_id AND (first.scheduled_at, first.created_at, first.id) < (x.scheduled_at, x.created_at, x.id)
    )
  END
  LIMIT 200
), candidate AS MATERIALIZED (
  SELECT every.*
  FROM (
    SELECT free.scheduled_at, free.created_at, free.id, free.step FROM free
    UNION ALL SELECT alone.scheduled_at, alone.created_at, alone.id, NULL FROM alone
    UNION ALL SELECT expired.scheduled_at, expired.created_at, expired.id, NULL FROM expired
  ) AS every
  ORDER BY every.scheduled_at, every.created_at, every.id
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
    WHERE CASE WHEN x.nth > (SELECT CASE count(*) WHEN 200 THEN max(expired.nth) END FROM expired)
      THEN CASE WHEN x.aggregate_id IS NULL THEN true ELSE
    NOT EXISTS (
    SELECT 1
    FROM "inbox" AS busy
    WHERE busy."source" = $1::text
      AND busy."aggregate_id" = x.aggregate_id
      AND busy."consumption" = 'pull' AND busy."state" = 'processing'
      AND (
        busy."lease_expires_at" > statement_timestamp()
        OR (busy."scheduled_at", busy."created_at", busy."id") < (x.scheduled_at, x.created_at, x.id)
      )
  )
    AND NOT EXISTS (
      SELECT 1
      FROM (
        SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
    FROM "inbox" AS i
    WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."aggregate_id" >= x.aggregate_id
    ORDER BY i."aggregate_id", i."scheduled_at", i."created_at", i."id"
    LIMIT 1
      ) AS first
      WHERE first.aggregate_id = x.aggregate_id AND (first.scheduled_at, first.created_at, first.id) < (x.scheduled_at, x.created_at, x.id)
    )
  END ELSE false END
    UNION ALL
    SELECT walk.id, walk.step
    FROM walk
    WHERE CASE WHEN walk.step > (SELECT max(free.step) FROM free) AND walk.scheduled_at <= statement_timestamp()
      THEN NOT EXISTS (
    SELECT 1
    FROM "inbox" AS busy
    WHERE busy."source" = $1::text
      AND busy."aggregate_id" = walk.aggregate_id
      AND busy."consumption" = 'pull' AND busy."state" = 'processing'
      AND (
        busy."lease_expires_at" > statement_timestamp()
        OR (busy."scheduled_at", busy."created_at", busy."id") < (walk.scheduled_at, walk.created_at, walk.id)
      )
  ) ELSE false END
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
), reached AS MATERIALIZED (
  -- Reading the walk drives it on, so it is read to its end only where it has got there already.
  SELECT
    filled.batch,
    CASE WHEN filled.batch THEN (SELECT max(locked.step) FROM locked)
      ELSE (SELECT max(walk.step) FROM walk) END AS step
  FROM (SELECT count(*) = $2::int AS batch FROM locked) AS filled
)
SELECT claimed.id::text AS id, claimed.source, claimed.idempotency_key, claimed.aggregate_id, claimed.event_type, claimed.correlation_id, claimed.payload, claimed.headers, claimed.attempt, claimed.expired, claimed.claimed_at,
  coalesce((SELECT walk.aggregate_id FROM walk WHERE walk.step = reached.step LIMIT 1), $5::text) AS cursor,
  NOT reached.batch AND coalesce(reached.step, 0) < 1000 AS ended
FROM reached
LEFT JOIN claimed ON true
ORDER BY claimed.scheduled_at, claimed.created_at, claimed.id
