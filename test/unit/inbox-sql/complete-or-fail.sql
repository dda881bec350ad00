-- id, token
WITH done AS (
  UPDATE "inbox" AS i
SET "state" = 'processed',
    "processed_at" = clock_timestamp(),
    "claim_token" = NULL,
    "lease_expires_at" = NULL
WHERE i."id" = $1::uuid
  AND i."consumption" = 'pull' AND i."state" = 'processing'
  AND i."claim_token" = $2::uuid
  AND i."lease_expires_at" > clock_timestamp()
  RETURNING 1
)
SELECT CASE count(*) WHEN 1 THEN count(*)::int ELSE ('intray: this claim is lost, rows completed: ' || count(*))::int END AS done
FROM done
