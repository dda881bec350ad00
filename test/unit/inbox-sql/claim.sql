-- source, batch, leaseMs, token
WITH due AS MATERIALIZED (
  SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp()
  ORDER BY i."scheduled_at", i."created_at", i."id"
  LIMIT 50
), expired AS MATERIALIZED (
  SELECT i."aggregate_id" AS aggregate_id, i."scheduled_at" AS scheduled_at, i."created_at" AS created_at, i."id" AS id
  FROM "inbox" AS i
  WHERE i."source" = $1::text AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp()
  ORDER BY i."scheduled_at", i."created_at", i."id"
  LIMIT 50
), held AS MATERIALIZED (
  SELECT * FROM (SELECT * FROM due UNION ALL SELECT * FROM expired) AS both_kinds
  ORDER BY both_kinds.scheduled_at, both_kinds.created_at, both_kinds.id
  LIMIT 50
), head AS MATERIALIZED (
  SELECT ranked.aggregate_id, ranked.scheduled_at, ranked.created_at, ranked.id
  FROM (
    SELECT held.*, row_number() OVER (PARTITION BY held.aggregate_id ORDER BY held.scheduled_at, held.created_at, held.id) AS rank
    FROM held
  ) AS ranked
  WHERE ranked.rank = 1 OR ranked.aggregate_id IS NULL
  ORDER BY ranked.scheduled_at, ranked.created_at, ranked.id
),
locked AS MATERIALIZED (
  SELECT row.id, row.expired
  FROM head
  CROSS JOIN LATERAL (
    SELECT i."id" AS id, i."state" = 'processing' AS expired
    FROM "inbox" AS i
    WHERE i."id" = head.id AND ((i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp()) OR (i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp()))
    FOR UPDATE SKIP LOCKED
  ) AS row
  WHERE CASE WHEN head.aggregate_id IS NULL THEN true ELSE NOT EXISTS (
    SELECT 1
    FROM "inbox" AS busy
    WHERE busy."source" = $1::text
      AND busy."aggregate_id" = head.aggregate_id
      AND busy."consumption" = 'pull' AND busy."state" = 'processing' AND busy."lease_expires_at" > statement_timestamp()
  ) END
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
SELECT claimed.id::text AS id, claimed.source, claimed.idempotency_key, claimed.aggregate_id, claimed.event_type, claimed.correlation_id, claimed.payload, claimed.headers, claimed.attempt, claimed.expired, claimed.claimed_at, counted.held
FROM (SELECT count(*)::int AS held FROM held) AS counted
LEFT JOIN claimed ON true
ORDER BY claimed.scheduled_at, claimed.created_at, claimed.id
