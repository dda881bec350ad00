-- ack: ids
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[]) AS g (id)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "app"."jobs" AS i
SET "done" = clock_timestamp()
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- claim: group, limit
WITH claimed AS (
  SELECT * FROM (
  SELECT row.*
  FROM (
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."done" IS NULL AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."done" IS NULL AND i."due" IS NULL AND (i."id") > (chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE true)
    UNION ALL
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."done" IS NULL AND i."due" <= statement_timestamp()
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."done" IS NULL AND i."due" <= statement_timestamp() AND (i."due", i."id") > (chunk.due, chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE true)
  ) AS candidate
  CROSS JOIN LATERAL (
    SELECT i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    NULL::text AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."id" = candidate.id AND i."grp" IS NOT DISTINCT FROM $1::text AND i."done" IS NULL AND (i."due" IS NULL OR i."due" <= statement_timestamp())
    FOR UPDATE SKIP LOCKED
  ) AS row
  LIMIT 10
  ) AS most
  LIMIT $2::int
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.due NULLS FIRST, claimed.id;

-- columns: 
SELECT
  a.attname::text AS name,
  format_type(a.atttypid, a.atttypmod) AS type,
  NOT a.attnotnull AS nullable,
  CASE
    WHEN a.attidentity = 'a' OR coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '' THEN 'always'
    WHEN a.attidentity = 'd' OR a.atthasdef THEN 'byDefault'
    ELSE 'never'
  END AS generated,
  CASE WHEN a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)
    THEN CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END
  END AS precision
FROM pg_attribute AS a
WHERE a.attrelid = to_regclass('"app"."jobs"') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- deadLetter: ids, reasons, group
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[]) AS g (id, reason)
), locked AS (
  SELECT i."id" AS id, given.reason
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "app"."jobs" AS i
SET "grp" = $3::text,
    "att" = 1,
    "due" = NULL,
    "done" = NULL,
    "why" = locked.reason
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "app"."jobs" ("id", "grp", "due")
VALUES ($1::text::bigint, $2::text::text, $3::text::timestamptz),
  ($4::text::bigint, $5::text::text, $6::text::timestamptz)
RETURNING "id"::text AS id;

-- retry: ids
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[]) AS g (id)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "app"."jobs" AS i
SET "att" = least(i."att", 32767 - 1) + 1
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retryAfter: ids, delaysMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::double precision[]) AS g (id, delay)
), locked AS (
  SELECT i."id" AS id, given.delay
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "app"."jobs" AS i
SET "due" = clock_timestamp() + locked.delay::double precision * interval '1 millisecond',
    "att" = least(i."att", 32767 - 1) + 1
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- take: group, ids
WITH given AS (
  SELECT g.* FROM unnest($2::text::bigint[]) WITH ORDINALITY AS g (id, turn)
), locked AS (
  SELECT i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    NULL::text AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id, given.turn
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  WHERE i."grp" IS NOT DISTINCT FROM $1::text AND i."done" IS NULL AND (i."due" IS NULL OR i."due" <= statement_timestamp())
  ORDER BY given.turn
  FOR UPDATE OF i SKIP LOCKED
), claimed AS (SELECT * FROM locked)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.turn;
