-- ack: ids
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[]) AS g (id)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR UPDATE OF i
)
DELETE FROM "app"."jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- claim: group, limit
WITH claimed AS (
  SELECT * FROM (
  SELECT row.*
  FROM (
    SELECT head.*
    FROM (SELECT * FROM (
    (SELECT i."due" AS due, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp())) AS ready
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 1)
    UNION ALL
    (SELECT i."due" AS due, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp())) AS ready
    FROM "app"."jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NOT NULL
    ORDER BY i."due", i."id"
    LIMIT 1)
    ) AS first
    LIMIT 1) AS head
    WHERE CASE WHEN head.ready THEN pg_try_advisory_xact_lock(hashtextextended('app.jobs.' || head.group_key, 1)) ELSE false END
    OFFSET 0
  ) AS candidate
  CROSS JOIN LATERAL (
    SELECT i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."id" = candidate.id AND i."grp"::text IS NOT DISTINCT FROM candidate.group_key AND i."due" IS NOT DISTINCT FROM candidate.due AND (i."due" IS NULL OR i."due" <= statement_timestamp())
    FOR UPDATE SKIP LOCKED
  ) AS row
  LIMIT 10
  ) AS most
  LIMIT $2::int
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.due NULLS FIRST, claimed.id;

-- claim of every group: after, limit
WITH RECURSIVE walk AS (
  (SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start UNION ALL SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" IS NOT NULL AND $1 IS NULL
    ORDER BY i."grp"
    LIMIT 1
  ) AS start)
  UNION ALL
  SELECT next.value
  FROM walk CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > walk.value
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
), wrapped AS (
  SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start
  UNION ALL
  SELECT next.value
  FROM wrapped CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > wrapped.value AND i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
), heads AS (
  SELECT head.*
  FROM (
    SELECT seen.value
    FROM (SELECT walk.value FROM walk UNION ALL SELECT wrapped.value FROM wrapped) AS seen
    LIMIT 500
  ) AS visited
  CROSS JOIN LATERAL (
    SELECT * FROM (
    (SELECT i."due" AS due, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp())) AS ready
    FROM "app"."jobs" AS i
    WHERE i."grp" = visited.value AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 1)
    UNION ALL
    (SELECT i."due" AS due, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp())) AS ready
    FROM "app"."jobs" AS i
    WHERE i."grp" = visited.value AND i."due" IS NOT NULL
    ORDER BY i."due", i."id"
    LIMIT 1)
    ) AS first
    LIMIT 1
  ) AS head
), claimed AS (
  SELECT * FROM (
  SELECT row.*
  FROM (
    SELECT head.*
    FROM (SELECT * FROM heads ORDER BY heads.due NULLS FIRST, heads.id OFFSET 0) AS head
    WHERE CASE WHEN head.ready THEN pg_try_advisory_xact_lock(hashtextextended('app.jobs.' || head.group_key, 1)) ELSE false END
    OFFSET 0
  ) AS candidate
  CROSS JOIN LATERAL (
    SELECT i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id
    FROM "app"."jobs" AS i
    WHERE i."id" = candidate.id AND i."grp"::text IS NOT DISTINCT FROM candidate.group_key AND i."due" IS NOT DISTINCT FROM candidate.due AND (i."due" IS NULL OR i."due" <= statement_timestamp())
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

-- deadLetter: ids, reasons
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[]) AS g (id, reason)
), locked AS (
  SELECT i."id" AS id, given.reason
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR UPDATE OF i
), gone AS (
  DELETE FROM "app"."jobs" AS i
  USING locked
  WHERE i."id" = locked.id
  RETURNING i."id" AS place, locked.reason, i."pay" AS v0
), moved AS (
  INSERT INTO "graves" ("pay", "tries", "reason")
  SELECT gone.v0, 1, gone.reason FROM gone ORDER BY gone.place
)
SELECT gone.place::text AS id FROM gone;

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
), heads AS (
  SELECT head.id, head.turn
  FROM (
    SELECT DISTINCT ON (i."grp") given.id, given.turn, i."grp"::text AS group_key, true AS ready
    FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "app"."jobs" AS i ON i."id" = given.id
  WHERE i."grp" IS NOT DISTINCT FROM $1::text AND (i."due" IS NULL OR i."due" <= statement_timestamp())
    ORDER BY i."grp", given.turn
    OFFSET 0
  ) AS head
  WHERE pg_try_advisory_xact_lock(hashtextextended('app.jobs.' || head.group_key, 1))
), locked AS (
  SELECT i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id, heads.turn
  FROM (SELECT * FROM heads LIMIT (SELECT NULL::bigint)) AS heads JOIN "app"."jobs" AS i ON i."id" = heads.id
  WHERE i."grp" IS NOT DISTINCT FROM $1::text AND (i."due" IS NULL OR i."due" <= statement_timestamp())
  ORDER BY heads.turn
  FOR UPDATE OF i SKIP LOCKED
), claimed AS (SELECT * FROM locked)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.turn;

-- walkedTo of every group: after
WITH RECURSIVE walk AS (
  (SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start UNION ALL SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" IS NOT NULL AND $1 IS NULL
    ORDER BY i."grp"
    LIMIT 1
  ) AS start)
  UNION ALL
  SELECT next.value
  FROM walk CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > walk.value
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
), wrapped AS (
  SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start
  UNION ALL
  SELECT next.value
  FROM wrapped CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "app"."jobs" AS i
    WHERE i."grp" > wrapped.value AND i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
)
SELECT seen.value::text AS "group"
FROM (SELECT walk.value FROM walk UNION ALL SELECT wrapped.value FROM wrapped) AS seen
LIMIT 1 OFFSET 499;
