-- id, token, claimedAt
WITH seen AS MATERIALIZED (
  SELECT i."id" AS id FROM "inbox" AS i WHERE i."id" = $1::uuid
), unlocked AS MATERIALIZED (
  SELECT
    i."claim_token" = $2::uuid AND i."consumption" = 'pull' AND i."state" = 'processing' AS ours,
    i."consumption" = 'pull' AND i."state" = 'processed' AS processed,
    to_char(i."claimed_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS claimed_at
  FROM "inbox" AS i
  WHERE i."id" = $1::uuid
  FOR SHARE SKIP LOCKED
)
SELECT CASE
  WHEN seen.id IS NULL THEN 'gone'
  WHEN unlocked.processed IS NULL THEN 'locked'
  WHEN unlocked.ours THEN 'ours'
  WHEN unlocked.claimed_at <> $3::text THEN 'taken'
  WHEN unlocked.claimed_at = $3::text AND unlocked.processed THEN 'completed'
  ELSE 'other'
END AS outcome
FROM (SELECT 1) AS one LEFT JOIN seen ON true LEFT JOIN unlocked ON true
