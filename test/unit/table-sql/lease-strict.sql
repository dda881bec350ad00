-- ack: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
  ORDER BY i."id"
  FOR UPDATE OF i
)
DELETE FROM "jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- ackOrFail: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
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

-- claim: group, limit, leaseMs
WITH locked AS (
  SELECT * FROM (
  SELECT row.id, stale.ids AS stale
  FROM (SELECT * FROM (
    SELECT each.* FROM (
      SELECT i."prio" AS value
      FROM "jobs" AS i
      WHERE i."grp" = $1::text AND i."prio" IS NOT NULL
      ORDER BY i."prio"
      LIMIT 1
    ) AS level CROSS JOIN LATERAL (
    (SELECT i."prio" AS priority, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())) AS ready
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."prio" = level.value
    ORDER BY i."prio", i."id"
    LIMIT 1)
    ) AS each
    UNION ALL
    (SELECT i."prio" AS priority, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())) AS ready
    FROM "jobs" AS i
    WHERE i."grp" = $1::text AND i."prio" IS NULL
    ORDER BY i."prio", i."id"
    LIMIT 1)
    ) AS first
    LIMIT 1) AS head
  CROSS JOIN LATERAL (
    SELECT count(*) AS leased, coalesce(bool_or(other.lease > statement_timestamp()), false) AS live
    FROM (
      SELECT o."lease" AS lease
      FROM "jobs" AS o
      WHERE head.ready AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id
      ORDER BY o."lease" DESC
      LIMIT 20
    ) AS other
  ) AS busy
  CROSS JOIN LATERAL (
    SELECT array_agg(expired.id) AS ids, count(*) AS leased
    FROM (
      SELECT o."id" AS id
      FROM "jobs" AS o
      WHERE busy.leased > 0 AND NOT busy.live AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id AND o."lease" <= statement_timestamp()
      ORDER BY o."lease" DESC
      LIMIT 20
      FOR UPDATE SKIP LOCKED
    ) AS expired
  ) AS stale
  CROSS JOIN LATERAL (
    SELECT locked.id
    FROM (
      SELECT i."id" AS id
    FROM "jobs" AS i
    WHERE i."id" = head.id AND i."grp"::text IS NOT DISTINCT FROM head.group_key AND i."prio" IS NOT DISTINCT FROM head.priority AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())
    FOR UPDATE SKIP LOCKED
    ) AS locked
    OFFSET 0
  ) AS row
  WHERE head.ready AND NOT busy.live AND stale.leased = busy.leased
  LIMIT 10
  ) AS most
  LIMIT $2::int
), changed AS (
  UPDATE "jobs" AS i
  SET "lease" = CASE WHEN change.takes THEN statement_timestamp() + $3::double precision * interval '1 millisecond' ELSE NULL END,
      "att" = CASE WHEN change.takes THEN least(i."att", 32767 - 1) + 1 ELSE i."att" END
  FROM (
    SELECT locked.id, true AS takes FROM locked
    UNION ALL SELECT unnest(locked.stale), false FROM locked
  ) AS change
  WHERE i."id" = change.id
  RETURNING change.takes, i."id"::text AS claimed_id,
    to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."prio" AS priority, i."id" AS id
), claimed AS (
  SELECT * FROM changed WHERE changed.takes
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.priority, claimed.id;

-- claim of every group: after, limit, leaseMs
WITH RECURSIVE walk AS (
  (SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" > $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start UNION ALL SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" IS NOT NULL AND $1 IS NULL
    ORDER BY i."grp"
    LIMIT 1
  ) AS start)
  UNION ALL
  SELECT next.value
  FROM walk CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" > walk.value
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
), wrapped AS (
  SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start
  UNION ALL
  SELECT next.value
  FROM wrapped CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "jobs" AS i
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
    SELECT each.* FROM (
      SELECT i."prio" AS value
      FROM "jobs" AS i
      WHERE i."grp" = visited.value AND i."prio" IS NOT NULL
      ORDER BY i."prio"
      LIMIT 1
    ) AS level CROSS JOIN LATERAL (
    (SELECT i."prio" AS priority, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())) AS ready
    FROM "jobs" AS i
    WHERE i."grp" = visited.value AND i."prio" = level.value
    ORDER BY i."prio", i."id"
    LIMIT 1)
    ) AS each
    UNION ALL
    (SELECT i."prio" AS priority, i."id" AS id, i."grp"::text AS group_key, ((i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())) AS ready
    FROM "jobs" AS i
    WHERE i."grp" = visited.value AND i."prio" IS NULL
    ORDER BY i."prio", i."id"
    LIMIT 1)
    ) AS first
    LIMIT 1
  ) AS head
), locked AS (
  SELECT * FROM (
  SELECT row.id, stale.ids AS stale
  FROM (SELECT * FROM heads ORDER BY heads.priority, heads.id OFFSET 0) AS head
  CROSS JOIN LATERAL (
    SELECT count(*) AS leased, coalesce(bool_or(other.lease > statement_timestamp()), false) AS live
    FROM (
      SELECT o."lease" AS lease
      FROM "jobs" AS o
      WHERE head.ready AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id
      ORDER BY o."lease" DESC
      LIMIT 20
    ) AS other
  ) AS busy
  CROSS JOIN LATERAL (
    SELECT array_agg(expired.id) AS ids, count(*) AS leased
    FROM (
      SELECT o."id" AS id
      FROM "jobs" AS o
      WHERE busy.leased > 0 AND NOT busy.live AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id AND o."lease" <= statement_timestamp()
      ORDER BY o."lease" DESC
      LIMIT 20
      FOR UPDATE SKIP LOCKED
    ) AS expired
  ) AS stale
  CROSS JOIN LATERAL (
    SELECT locked.id
    FROM (
      SELECT i."id" AS id
    FROM "jobs" AS i
    WHERE i."id" = head.id AND i."grp"::text IS NOT DISTINCT FROM head.group_key AND i."prio" IS NOT DISTINCT FROM head.priority AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())
    FOR UPDATE SKIP LOCKED
    ) AS locked
    OFFSET 0
  ) AS row
  WHERE head.ready AND NOT busy.live AND stale.leased = busy.leased
  LIMIT 10
  ) AS most
  LIMIT $2::int
), changed AS (
  UPDATE "jobs" AS i
  SET "lease" = CASE WHEN change.takes THEN statement_timestamp() + $3::double precision * interval '1 millisecond' ELSE NULL END,
      "att" = CASE WHEN change.takes THEN least(i."att", 32767 - 1) + 1 ELSE i."att" END
  FROM (
    SELECT locked.id, true AS takes FROM locked
    UNION ALL SELECT unnest(locked.stale), false FROM locked
  ) AS change
  WHERE i."id" = change.id
  RETURNING change.takes, i."id"::text AS claimed_id,
    to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."prio" AS priority, i."id" AS id
), claimed AS (
  SELECT * FROM changed WHERE changed.takes
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.priority, claimed.id;

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

-- deadLetter: ids, tokens, attempts, reasons
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[], $4::text::text[]) AS g (id, token, attempt, reason)
), locked AS (
  SELECT i."id" AS id, given.reason
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
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

-- extend: ids, tokens, attempts, leaseMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt AND i."lease" > clock_timestamp()
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
), seen AS (
  SELECT i."id" AS id
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt AND i."lease" > clock_timestamp()
), extended AS (
  UPDATE "jobs" AS i
  SET "lease" = clock_timestamp() + $4::double precision * interval '1 millisecond'
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

-- extendable: ids, tokens, attempts, leaseMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), seen AS (
  SELECT i."id" AS id
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt AND i."lease" > clock_timestamp()
), mine AS (
  SELECT i."id" AS id, i."lease" AS held
  FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt AND i."lease" > clock_timestamp()
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
  extract(epoch FROM (clock_timestamp() + $4::double precision * interval '1 millisecond')::timestamptz)::text AS until
FROM given
LEFT JOIN mine ON mine.id = given.id
LEFT JOIN seen ON seen.id = given.id;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "grp", "due")
VALUES ($1::text::bigint, $2::text::text, $3::text::timestamptz),
  ($4::text::bigint, $5::text::text, $6::text::timestamptz)
RETURNING "id"::text AS id;

-- lockOrFail: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt AND i."lease" > clock_timestamp()
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
SELECT CASE count(*) WHEN (SELECT count(*) FROM given) THEN count(*)::int ELSE ('intray: this claim is lost, rows locked: ' || count(*))::int END AS done
FROM locked;

-- lookAgain: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
)
SELECT i."id"::text AS id
FROM given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
WHERE EXISTS (
  SELECT 1
  FROM "jobs" AS o
  WHERE o."grp" = i."grp" AND o."lease" > statement_timestamp() AND o."id" <> i."id" AND (o."id" < i."id" OR o."id" NOT IN (SELECT given.id FROM given))
);

-- readBack: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), seen AS (
  SELECT i."id" AS id FROM given JOIN "jobs" AS i ON i."id" = given.id
), unlocked AS (
  SELECT i."id" AS id,
    coalesce(i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt, false) AS ours,
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

-- release: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
UPDATE "jobs" AS i
SET "lease" = NULL,
    "att" = greatest(i."att" - 1, 1)
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retry: ids, tokens, attempts
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[]) AS g (id, token, attempt)
), locked AS (
  SELECT i."id" AS id
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- retryAfter: ids, tokens, attempts, delaysMs
WITH given AS (
  SELECT g.* FROM unnest($1::text::bigint[], $2::text::text[], $3::text::smallint[], $4::text::double precision[]) AS g (id, token, attempt, delay)
), locked AS (
  SELECT i."id" AS id, given.delay
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id AND to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') = given.token AND i."att" = given.attempt
  ORDER BY i."id"
  FOR NO KEY UPDATE OF i
)
UPDATE "jobs" AS i
SET "due" = clock_timestamp() + locked.delay::double precision * interval '1 millisecond',
    "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- take: group, ids, leaseMs
WITH given AS (
  SELECT g.* FROM unnest($2::text::bigint[]) WITH ORDINALITY AS g (id, turn)
), locked AS (
  SELECT row.id, stale.ids AS stale, head.turn
  FROM (SELECT DISTINCT ON (i."grp") given.id, given.turn, i."grp"::text AS group_key, true AS ready
    FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN "jobs" AS i ON i."id" = given.id
  WHERE i."grp" IS NOT DISTINCT FROM $1::text AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())
    ORDER BY i."grp", given.turn
    OFFSET 0) AS head
  CROSS JOIN LATERAL (
    SELECT count(*) AS leased, coalesce(bool_or(other.lease > statement_timestamp()), false) AS live
    FROM (
      SELECT o."lease" AS lease
      FROM "jobs" AS o
      WHERE head.ready AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id
      ORDER BY o."lease" DESC
      LIMIT 20
    ) AS other
  ) AS busy
  CROSS JOIN LATERAL (
    SELECT array_agg(expired.id) AS ids, count(*) AS leased
    FROM (
      SELECT o."id" AS id
      FROM "jobs" AS o
      WHERE busy.leased > 0 AND NOT busy.live AND o."grp" = head.group_key AND o."lease" IS NOT NULL AND o."id" <> head.id AND o."lease" <= statement_timestamp()
      ORDER BY o."lease" DESC
      LIMIT 20
      FOR UPDATE SKIP LOCKED
    ) AS expired
  ) AS stale
  CROSS JOIN LATERAL (
    SELECT locked.id
    FROM (
      SELECT i."id" AS id
    FROM "jobs" AS i
    WHERE i."id" = head.id AND i."grp" IS NOT DISTINCT FROM $1::text AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp())
    FOR UPDATE SKIP LOCKED
    ) AS locked
    OFFSET 0
  ) AS row
  WHERE head.ready AND NOT busy.live AND stale.leased = busy.leased
), changed AS (
  UPDATE "jobs" AS i
  SET "lease" = CASE WHEN change.takes THEN statement_timestamp() + $3::double precision * interval '1 millisecond' ELSE NULL END,
      "att" = CASE WHEN change.takes THEN least(i."att", 32767 - 1) + 1 ELSE i."att" END
  FROM (
    SELECT locked.id, true AS takes, locked.turn FROM locked
    UNION ALL SELECT unnest(locked.stale), false, locked.turn FROM locked
  ) AS change
  WHERE i."id" = change.id
  RETURNING change.takes, change.turn, i."id"::text AS claimed_id,
    to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token,
    i."att"::text AS attempt,
    i."grp"::text AS claimed_group,
    i."grp"::text AS key,
    i."pay"::text AS c0,
    i."prio" AS priority, i."id" AS id
), claimed AS (
  SELECT * FROM changed WHERE changed.takes
)
SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key, claimed.c0
FROM claimed
ORDER BY claimed.turn;

-- tokens: ids
SELECT i."id"::text AS id, to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS token
FROM "jobs" AS i
WHERE i."id" = ANY ($1::text::bigint[]);

-- walkedTo of every group: after
WITH RECURSIVE walk AS (
  (SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" > $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start UNION ALL SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" IS NOT NULL AND $1 IS NULL
    ORDER BY i."grp"
    LIMIT 1
  ) AS start)
  UNION ALL
  SELECT next.value
  FROM walk CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" > walk.value
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
), wrapped AS (
  SELECT start.value FROM (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS start
  UNION ALL
  SELECT next.value
  FROM wrapped CROSS JOIN LATERAL (
    SELECT i."grp" AS value
    FROM "jobs" AS i
    WHERE i."grp" > wrapped.value AND i."grp" <= $1
    ORDER BY i."grp"
    LIMIT 1
  ) AS next
)
SELECT seen.value::text AS "group"
FROM (SELECT walk.value FROM walk UNION ALL SELECT wrapped.value FROM wrapped) AS seen
LIMIT 1 OFFSET 499;
