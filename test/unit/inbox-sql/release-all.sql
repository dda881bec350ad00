-- ids, tokens, charges
WITH given AS MATERIALIZED (
  SELECT g.id, g.token, g.charge
  FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::int[]) AS g (id, token, charge)
), locked AS MATERIALIZED (
  SELECT i."id" AS id, given.charge
  FROM given JOIN "inbox" AS i ON i."id" = given.id AND i."consumption" = 'pull' AND i."state" = 'processing' AND i."claim_token" = given.token
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
UPDATE "inbox" AS i
SET "state" = 'pending',
    "attempt" = greatest(i."attempt" - locked.charge, 0),
    "claim_token" = NULL,
    "claimed_at" = NULL,
    "lease_expires_at" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id
