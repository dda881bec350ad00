-- ack: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR UPDATE OF i
)
DELETE FROM "jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- ackOrFail: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR UPDATE OF i
), done AS (
DELETE FROM "jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id
)
SELECT CASE count(*) WHEN (SELECT count(*) FROM given) THEN count(*)::int ELSE ('intray: this claim is lost, rows acknowledged: ' || count(*))::int END AS done
FROM done;

-- claim: now, limit, leaseMs
WITH locked AS (
  SELECT * FROM (
  SELECT row.id
  FROM (
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz) AS free
    FROM "jobs" AS i
    WHERE i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz) AS free
    FROM "jobs" AS i
    WHERE i."due" IS NULL AND (i."id") > (chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.free)
    UNION ALL
    (WITH RECURSIVE chunk AS (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz) AS free
    FROM "jobs" AS i
    WHERE i."due" <= $1::text::timestamptz
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      SELECT rows.*, row_number() OVER () AS number
      FROM (
        SELECT i."due" AS due, i."id" AS id, (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz) AS free
    FROM "jobs" AS i
    WHERE i."due" <= $1::text::timestamptz AND (i."due", i."id") > (chunk.due, chunk.id)
    ORDER BY i."due", i."id"
    LIMIT 2
      ) AS rows
      ) AS next
      WHERE chunk.number = 2
    ) SELECT * FROM chunk WHERE chunk.free)
  ) AS candidate
  CROSS JOIN LATERAL (
    SELECT i."id" AS id
    FROM "jobs" AS i
    WHERE i."id" = candidate.id AND (i."due" IS NULL OR i."due" <= $1::text::timestamptz) AND (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz)
    FOR UPDATE SKIP LOCKED
  ) AS row
  LIMIT 10
  ) AS most
  LIMIT $2::int
), claimed AS (
  UPDATE "jobs" AS i
  SET "lease" = $1::text::timestamptz + $3::double precision * interval '1 millisecond' + floor(random() * 1000) * interval '1 microsecond'
  FROM locked
  WHERE i."id" = locked.id
  RETURNING i."id"::text AS claimed_id,
    to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token,
    NULL::text AS attempt,
    NULL::text AS claimed_group,
    NULL::text AS key,
    i."due" AS due, i."id" AS id
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key
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

-- deadLetter: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "due" = NULL,
    "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- extend: ids, tokens, now, leaseMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."lease" > $3::text::timestamptz
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
), seen AS (
  SELECT i."id" AS id
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."lease" > $3::text::timestamptz
), extended AS (
  UPDATE "jobs" AS i
  SET "lease" = $3::text::timestamptz + $4::double precision * interval '1 millisecond' + floor(random() * 1000) * interval '1 microsecond'
  FROM locked
  WHERE i."id" = locked.id
  RETURNING i."id" AS id, to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token
)
SELECT
  given.id::text AS id,
  CASE
    WHEN extended.id IS NOT NULL THEN 'extended'
    WHEN seen.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome,
  extended.token
FROM given
LEFT JOIN extended ON extended.id = given.id
LEFT JOIN seen ON seen.id = given.id;

-- extendable: ids, tokens, now, leaseMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), seen AS (
  SELECT i."id" AS id
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."lease" > $3::text::timestamptz
), mine AS (
  SELECT i."id" AS id, i."lease" AS held
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."lease" > $3::text::timestamptz
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
SELECT given.id::text AS id,
  CASE
    WHEN mine.id IS NOT NULL THEN 'ours'
    WHEN seen.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome,
  extract(epoch FROM mine.held::timestamptz)::text AS held,
  extract(epoch FROM ($3::text::timestamptz + $4::double precision * interval '1 millisecond' + floor(random() * 1000) * interval '1 microsecond')::timestamptz)::text AS until
FROM given
LEFT JOIN mine ON mine.id = given.id
LEFT JOIN seen ON seen.id = given.id;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "due", "lease")
VALUES ($1::text::uuid, $2::text::timestamptz, $3::text::timestamptz),
  ($4::text::uuid, $5::text::timestamptz, $6::text::timestamptz)
RETURNING "id"::text AS id;

-- lockOrFail: ids, tokens, now
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."lease" > $3::text::timestamptz
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
SELECT CASE count(*) WHEN (SELECT count(*) FROM given) THEN count(*)::int ELSE ('intray: this claim is lost, rows locked: ' || count(*))::int END AS done
FROM locked;

-- readBack: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), seen AS (
  SELECT i."id" AS id FROM given JOIN "jobs" AS i ON i."id" = given.id
), unlocked AS (
  SELECT i."id" AS id,
    coalesce(i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token, false) AS ours,
    coalesce(i."lease" IS NOT NULL, false) AS taken,
    coalesce(false, false) AS settled
  FROM given JOIN "jobs" AS i ON i."id" = given.id
  ORDER BY i."id"
  FOR SHARE OF i SKIP LOCKED
)
SELECT given.id::text AS id,
  CASE
    WHEN seen.id IS NULL THEN 'gone'
    WHEN unlocked.id IS NULL THEN 'locked'
    WHEN unlocked.ours THEN 'ours'
    WHEN unlocked.taken THEN 'taken'
    WHEN unlocked.settled THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM given
LEFT JOIN seen ON seen.id = given.id
LEFT JOIN unlocked ON unlocked.id = given.id;

-- release: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retry: ids, tokens
WITH given AS (
  SELECT g.* FROM unnest($1::text::uuid[], $2::text::text[]) AS g (id, token)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retryAfter: now, ids, tokens, delaysMs
WITH given AS (
  SELECT g.* FROM unnest($2::text::uuid[], $3::text::text[], $4::text::double precision[]) AS g (id, token, delay)
), locked AS (
  SELECT i."id" AS id, given.delay
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "due" = $1::text::timestamptz + locked.delay::double precision * interval '1 millisecond',
    "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- take: now, leaseMs, ids
WITH given AS (
  SELECT g.* FROM unnest($3::text::uuid[]) WITH ORDINALITY AS g (id, turn)
), locked AS (
  SELECT i."id" AS id, given.turn
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  WHERE (i."due" IS NULL OR i."due" <= $1::text::timestamptz) AND (i."lease" IS NULL OR i."lease" <= $1::text::timestamptz)
  ORDER BY given.turn
  FOR UPDATE OF i SKIP LOCKED
), claimed AS (
  UPDATE "jobs" AS i
  SET "lease" = $1::text::timestamptz + $2::double precision * interval '1 millisecond' + floor(random() * 1000) * interval '1 microsecond'
  FROM locked
  WHERE i."id" = locked.id
  RETURNING locked.turn, i."id"::text AS claimed_id,
    to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token,
    NULL::text AS attempt,
    NULL::text AS claimed_group,
    NULL::text AS key,
    i."due" AS due, i."id" AS id
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key
FROM claimed
ORDER BY claimed.turn;

-- tokens: ids
SELECT i."id"::text AS id, to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token
FROM "jobs" AS i
WHERE i."id" = ANY ($1::text::uuid[]);
