-- status: from, limit
SELECT
  i."grp"::text AS "group",
  count(*) FILTER (WHERE i."done" IS NULL AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND i."lease" IS NULL)::text AS waiting,
  count(*) FILTER (WHERE i."done" IS NULL AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND i."lease" IS NULL AND i."due" > statement_timestamp())::text AS future,
  count(*) FILTER (WHERE i."done" IS NULL AND i."lease" > statement_timestamp())::text AS in_work,
  count(*) FILTER (WHERE i."done" IS NULL AND i."lease" <= statement_timestamp())::text AS expired,
  count(*) FILTER (WHERE i."done" IS NOT NULL)::text AS processed,
  to_char((min(i."due") FILTER (WHERE i."done" IS NULL AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND i."lease" IS NULL))::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS oldest_due,
  (extract(epoch FROM statement_timestamp() - min(i."due") FILTER (WHERE i."done" IS NULL AND (i."due" IS NULL OR i."due" <= statement_timestamp()) AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND i."lease" IS NULL)) * 1000)::bigint::text AS oldest_due_ms
FROM "app"."jobs" AS i
WHERE ($1::text IS NULL OR i."grp" = $1::text::text)
GROUP BY i."grp"
ORDER BY i."grp"
LIMIT $2::int;

-- status of a bare table: limit
SELECT
  NULL::text AS "group",
  count(*) FILTER (WHERE true)::text AS waiting,
  NULL::text AS future,
  NULL::text AS in_work,
  NULL::text AS expired,
  NULL::text AS processed,
  NULL::text AS oldest_due,
  NULL::text AS oldest_due_ms
FROM "jobs" AS i
WHERE true
LIMIT $1::int;

-- rows: from, after, limit
SELECT
  i."id"::text AS id,
  i."grp"::text AS "group",
  i."att"::text AS attempt,
  to_char(i."due"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS due,
  to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS leased_until,
  i."why"::text AS reason,
  encode(substring(i."pay" FROM 1 FOR 400), 'hex') AS payload,
  octet_length(i."pay")::text AS payload_length
FROM "app"."jobs" AS i
WHERE i."done" IS NULL AND ($1::text IS NULL OR i."grp" = $1::text::text) AND ($2::text IS NULL OR i."id" < $2::text::bigint)
ORDER BY i."id" DESC
LIMIT $3::int;

-- rows of a bare table: after, limit
SELECT
  i."id"::text AS id,
  NULL::text AS "group",
  NULL::text AS attempt,
  NULL::text AS due,
  NULL::text AS leased_until,
  NULL::text AS reason,
  left(i."pay"::text, 400) AS payload,
  length(i."pay"::text)::text AS payload_length
FROM "jobs" AS i
WHERE ($1::text IS NULL OR i."id" > $1::text::uuid)
ORDER BY i."id"
LIMIT $2::int;

-- row: id, from
SELECT
  i."id"::text AS v0,
  i."grp"::text AS v1,
  to_char(i."due"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS v2,
  i."att"::text AS v3,
  to_char(i."lease"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS v4,
  to_char(i."done"::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS v5,
  i."why"::text AS v6,
  encode(i."pay", 'hex') AS v7
FROM "app"."jobs" AS i
WHERE i."id" = $1::text::bigint AND i."done" IS NULL AND ($2::text IS NULL OR i."grp" = $2::text::text);

-- move to a group: ids, from, group
WITH locked AS (
  SELECT i."id" AS id
  FROM "app"."jobs" AS i
  WHERE i."id" = ANY ($1::text::bigint[]) AND i."done" IS NULL AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND ($2::text IS NULL OR i."grp" = $2::text::text)
  ORDER BY i."id"
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE "app"."jobs" AS i
SET "grp" = $3::text::text,
    "att" = 1,
    "due" = NULL,
    "lease" = NULL
FROM locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- move to a table: ids, group
WITH locked AS (
  SELECT i."id" AS id
  FROM "jobs" AS i
  WHERE i."id" = ANY ($1::text::uuid[])
  ORDER BY i."id"
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM "jobs" AS i
  USING locked
  WHERE i."id" = locked.id
  RETURNING i."id" AS place, i."pay" AS v0
), moved AS (
  INSERT INTO "app"."jobs" ("pay", "grp", "att")
  SELECT gone.v0, $2::text, 1 FROM gone ORDER BY gone.place
)
SELECT gone.place::text AS id FROM gone;

-- remove: ids, from
WITH locked AS (
  SELECT i."id" AS id
  FROM "app"."jobs" AS i
  WHERE i."id" = ANY ($1::text::bigint[]) AND i."done" IS NULL AND (i."lease" IS NULL OR i."lease" <= statement_timestamp()) AND ($2::text IS NULL OR i."grp" = $2::text::text)
  ORDER BY i."id"
  FOR UPDATE SKIP LOCKED
)
DELETE FROM "app"."jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- remove of an advisory lock: ids
WITH locked AS (
  SELECT i."id" AS id
  FROM "jobs" AS i
  WHERE i."id" = ANY ($1::text::bigint[]) AND hashtextextended('jobs.' || ('job-' || coalesce(i."id"::text, '')), 0) NOT IN (
    SELECT ((l.classid::bigint << 32) | l.objid::bigint)
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  )
  ORDER BY i."id"
  FOR UPDATE SKIP LOCKED
)
DELETE FROM "jobs" AS i
USING locked
WHERE i."id" = locked.id
RETURNING i."id"::text AS id;

-- purge: olderThanMs, after, limit
WITH old AS (
  SELECT i."id" AS id
  FROM "app"."jobs" AS i
  WHERE i."done" <= clock_timestamp() - $1::double precision * interval '1 millisecond' AND ($2::text IS NULL OR i."id" > $2::text::bigint)
  ORDER BY i."id"
  LIMIT $3::int
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM "app"."jobs" AS i
  USING old
  WHERE i."id" = old.id
  RETURNING i."id" AS id
)
SELECT gone.id::text AS id FROM gone ORDER BY gone.id;
