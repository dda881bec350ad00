-- id
SELECT i."id"::text AS id, i."source" AS source,
  i."idempotency_key" AS idempotency_key, i."aggregate_id" AS aggregate_id,
  i."event_type" AS event_type, i."attempt" AS attempt,
  to_char(i."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, to_char(i."claimed_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS claimed_at,
  i."last_error" AS last_error,
  i."correlation_id" AS correlation_id,
  i."payload"::text AS payload,
  i."headers"::text AS headers
FROM "inbox" AS i
WHERE i."id" = $1::uuid AND i."consumption" = 'pull' AND i."state" = 'dead'
