-- source
UPDATE "inbox" AS i
SET "state" = 'pending',
    "scheduled_at" = clock_timestamp(),
    "attempt" = 0,
    "claim_token" = NULL,
    "claimed_at" = NULL,
    "lease_expires_at" = NULL,
    "processed_at" = NULL
WHERE i."id" IN (
  SELECT d."id"
  FROM "inbox" AS d
  WHERE d."consumption" = 'pull' AND d."state" = 'dead' AND d."source" = $1::text
  ORDER BY d."created_at", d."id"
  LIMIT 1000
  FOR UPDATE SKIP LOCKED
) AND i."consumption" = 'pull' AND i."state" = 'dead'
RETURNING i."id"::text AS id
