-- source, after, limit
SELECT i."id"::text AS id, i."source" AS source,
  i."idempotency_key" AS idempotency_key, i."aggregate_id" AS aggregate_id,
  i."event_type" AS event_type, i."attempt" AS attempt,
  to_char(i."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, to_char(i."claimed_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS claimed_at,
  i."last_error" AS last_error
FROM "inbox" AS i
WHERE i."consumption" = 'pull' AND i."state" = 'dead'
  AND ($1::text IS NULL OR i."source" = $1::text)
  AND ($2::uuid IS NULL OR (i."created_at", i."id") < (
    SELECT a."created_at", a."id" FROM "inbox" AS a WHERE a."id" = $2::uuid
  ))
ORDER BY i."created_at" DESC, i."id" DESC
LIMIT $3::int
