-- source, olderThanMs
DELETE FROM "inbox" AS i
WHERE i."id" IN (
  SELECT d."id"
  FROM "inbox" AS d
  WHERE d."consumption" = 'pull' AND d."state" = 'dead' AND ($1::text IS NULL OR d."source" = $1::text) AND coalesce(d."claimed_at", d."created_at") <= clock_timestamp() - $2::double precision * interval '1 millisecond'
  ORDER BY d."created_at", d."id"
  LIMIT 1000
  FOR UPDATE SKIP LOCKED
)
RETURNING i."id"::text AS id
