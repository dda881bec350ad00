-- id, token
WITH seen AS MATERIALIZED (
  SELECT i."state" AS state FROM "inbox" AS i WHERE i."id" = $1::uuid
), unlocked AS MATERIALIZED (
  SELECT i."state" AS state, i."claim_token" = $2::uuid AND i."consumption" = 'pull' AND i."state" = 'processing' AS ours
  FROM "inbox" AS i
  WHERE i."id" = $1::uuid
  FOR SHARE SKIP LOCKED
)
SELECT
  CASE
    WHEN seen.state IS NULL THEN 'gone'
    WHEN unlocked.state IS NULL THEN 'locked'
    WHEN unlocked.ours THEN 'ours'
    ELSE 'other'
  END AS outcome,
  coalesce(unlocked.state, seen.state) AS state
FROM (SELECT 1) AS one LEFT JOIN seen ON true LEFT JOIN unlocked ON true
