-- leaseMs, ids, tokens
WITH given AS MATERIALIZED (
  SELECT g.id, g.token FROM unnest($2::text::uuid[], $3::text::uuid[]) AS g (id, token)
), ours AS MATERIALIZED (
  SELECT i."id" AS id
  FROM given JOIN "inbox" AS i ON i."id" = given.id AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."claim_token" = given.token
  WHERE i."lease_expires_at" > clock_timestamp()
), locked AS MATERIALIZED (
  SELECT i."id" AS id
  FROM given JOIN "inbox" AS i ON i."id" = given.id AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."claim_token" = given.token
  WHERE i."lease_expires_at" > clock_timestamp()
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
), extended AS (
  UPDATE "inbox" AS i
  SET "lease_expires_at" = clock_timestamp() + $1::double precision * interval '1 millisecond'
  FROM locked
  WHERE i."id" = locked.id
  RETURNING i."id" AS id
)
SELECT
  given.id::text AS id,
  CASE
    WHEN extended.id IS NOT NULL THEN 'extended'
    WHEN ours.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome
FROM given
LEFT JOIN extended ON extended.id = given.id
LEFT JOIN ours ON ours.id = given.id
