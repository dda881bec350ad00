-- ids
UPDATE "inbox" AS i
SET "state" = 'pending',
    "scheduled_at" = clock_timestamp(),
    "attempt" = 0,
    "claim_token" = NULL,
    "claimed_at" = NULL,
    "lease_expires_at" = NULL,
    "processed_at" = NULL
WHERE i."id" = ANY ($1::text::uuid[]) AND i."consumption" = 'pull' AND i."state" = 'dead'
RETURNING i."id"::text AS id
