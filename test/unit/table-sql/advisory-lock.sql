-- ack: ids
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[]) AS g (id)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR UPDATE OF i
)
DELETE FROM "jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- candidates: keys, group, limit
WITH ahead AS (
  SELECT * FROM (
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = $2::text AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = $2::text AND i."due" IS NULL AND (i."id") > (chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock_key <> ALL ($1::text::text[]))
    UNION ALL
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = $2::text AND i."due" <= statement_timestamp()
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = $2::text AND i."due" <= statement_timestamp() AND (i."due", i."id") > (chunk.due, chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock_key <> ALL ($1::text::text[]))
  ) AS every_row
  LIMIT 30
), ranked AS (
  SELECT ahead.*, row_number() OVER (PARTITION BY ahead.lock_key ORDER BY ahead.due NULLS FIRST, ahead.id) AS rank
  FROM ahead
)
SELECT ranked.id::text AS id, ranked.lock_key AS key
FROM ranked
WHERE ranked.rank = 1
ORDER BY ranked.due NULLS FIRST, ranked.id
LIMIT $3::int;

-- claim: group, limit
WITH held AS (
  SELECT ((l.classid::bigint << 32) | l.objid::bigint) AS lock
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
), ahead AS (
  SELECT ranked.*
  FROM (
    SELECT each_row.*, row_number() OVER (PARTITION BY each_row.lock ORDER BY each_row.due NULLS FIRST, each_row.id) AS rank
    FROM (
      SELECT * FROM (
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NULL AND (i."id") > (chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock NOT IN (SELECT held.lock FROM held))
    UNION ALL
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" <= statement_timestamp()
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" <= statement_timestamp() AND (i."due", i."id") > (chunk.due, chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock NOT IN (SELECT held.lock FROM held))
      ) AS every_row
      LIMIT 30
    ) AS each_row
  ) AS ranked
  WHERE ranked.rank = 1
  ORDER BY ranked.due NULLS FIRST, ranked.id
), further AS (
  SELECT ranked.*
  FROM (
    SELECT each_row.*, row_number() OVER (PARTITION BY each_row.lock ORDER BY each_row.due NULLS FIRST, each_row.id) AS rank
    FROM (
      SELECT * FROM (
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" IS NULL AND (i."id") > (chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock NOT IN (SELECT held.lock FROM held) AND chunk.lock NOT IN (SELECT ahead.lock FROM ahead))
    UNION ALL
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" <= statement_timestamp()
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) AS lock
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."due" <= statement_timestamp() AND (i."due", i."id") > (chunk.due, chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.lock NOT IN (SELECT held.lock FROM held) AND chunk.lock NOT IN (SELECT ahead.lock FROM ahead))
      ) AS every_row
      LIMIT 200
    ) AS each_row
  ) AS ranked
  WHERE ranked.rank = 1
  ORDER BY ranked.due NULLS FIRST, ranked.id
), locked AS (
  SELECT * FROM (
  SELECT tried.*
  FROM (
    SELECT row.*, key.lock,
      CASE WHEN key.taken AND row.id IS NULL THEN pg_advisory_unlock(key.lock) END AS unlocked
    FROM (
      SELECT ahead.id, ahead.lock FROM ahead
      UNION ALL
      SELECT further.id, further.lock FROM further
    ) AS candidate
    CROSS JOIN LATERAL (
      SELECT candidate.lock, pg_try_advisory_lock(candidate.lock) AS taken
      OFFSET 0
    ) AS key
    LEFT JOIN LATERAL (
      SELECT i."id" AS id
      FROM "jobs" AS i
      WHERE key.taken AND i."id" = candidate.id AND i."grp" IS NOT DISTINCT FROM $1::text AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')), 0) = key.lock
      FOR UPDATE SKIP LOCKED
    ) AS row ON true
    OFFSET 0
  ) AS tried
  WHERE tried.id IS NOT NULL
  LIMIT 10
  ) AS most
  LIMIT $2::int
), claimed AS (
  UPDATE "jobs" AS i
  SET "att" = least(i."att", 32767 - 1) + 1
  FROM locked
  WHERE i."id" = locked.id
  RETURNING locked.lock, i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.lock::text AS lock, claimed.c0
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
WHERE a.attrelid = to_regclass('"jobs"') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- deadLetter: ids, reasons
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[]) AS g (id, reason)
), locked AS (
  SELECT i."id" AS id, given.reason
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR UPDATE OF i
), gone AS (
  DELETE FROM "jobs" AS i
  USING locked
  WHERE i."id" = locked.id
  RETURNING i."id" AS place, locked.reason, i."pay" AS v0
), moved AS (
  INSERT INTO "graves" ("pay", "tries", "reason")
  SELECT gone.v0, 1, gone.reason FROM gone ORDER BY gone.place
)
SELECT gone.place::text AS id FROM gone;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "grp", "due")
VALUES ($1::text::bigint, $2::text::text, $3::text::timestamptz),
  ($4::text::bigint, $5::text::text, $6::text::timestamptz)
RETURNING "id"::text AS id;

-- release: ids
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[]) AS g (id)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "att" = greatest(i."att" - 1, 1)
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retryAfter: ids, delaysMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::double precision[]) AS g (id, delay)
), locked AS (
  SELECT i."id" AS id, given.delay
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "due" = clock_timestamp() + locked.delay::double precision * interval '1 millisecond'
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- take: key, group, ids
WITH given AS (
  SELECT g.* FROM unnest($3::text::bigint[]) WITH ORDINALITY AS g (id, turn)
), locked AS (
  SELECT i."id" AS id, given.turn
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  WHERE i."grp" IS NOT DISTINCT FROM $2::text AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) = $1::text
  ORDER BY given.turn
  FOR UPDATE OF i SKIP LOCKED
), claimed AS (
  UPDATE "jobs" AS i
  SET "att" = least(i."att", 32767 - 1) + 1
  FROM locked
  WHERE i."id" = locked.id
  RETURNING locked.turn, i."id"::text AS claimed_id,
    NULL::text AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    ('job-' || coalesce(i."id"::text, '') || '/' || coalesce(i."grp"::text, '')) AS key,
    i."pay"::text AS c0,
    i."due" AS due, i."id" AS id
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.turn;

-- unlock: lock
SELECT pg_advisory_unlock($1::text::bigint) AS released;
