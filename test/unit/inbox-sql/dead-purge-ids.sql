-- ids
DELETE FROM "inbox" AS i
WHERE i."id" = ANY ($1::text::uuid[]) AND i."consumption" = 'pull' AND i."state" = 'dead'
RETURNING i."id"::text AS id
