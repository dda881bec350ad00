-- ack: ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id)
RETURNING CAST("id" AS TEXT) AS id;

-- candidates: group, keys, group, keys, limit
SELECT CAST(ranked.id AS TEXT) AS id, ranked.lock_key AS key
FROM (
  SELECT ahead.*, row_number() OVER (PARTITION BY ahead.lock_key ORDER BY ahead.due NULLS FIRST, ahead.id) AS turn
  FROM (
    SELECT * FROM (
    SELECT * FROM (SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(CAST(i."id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr(i."grp", char(0)) THEN lower(hex(i."grp")) ELSE CAST(i."grp" AS TEXT) END, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = CAST(? AS TEXT) AND ('job-' || coalesce(CAST(i."id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr(i."grp", char(0)) THEN lower(hex(i."grp")) ELSE CAST(i."grp" AS TEXT) END, '')) NOT IN (SELECT held.value FROM json_each(?) AS held) AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT 30)
    UNION ALL
    SELECT * FROM (SELECT i."due" AS due, i."id" AS id, ('job-' || coalesce(CAST(i."id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr(i."grp", char(0)) THEN lower(hex(i."grp")) ELSE CAST(i."grp" AS TEXT) END, '')) AS lock_key
    FROM "jobs" AS i
    WHERE i."grp" = CAST(? AS TEXT) AND ('job-' || coalesce(CAST(i."id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr(i."grp", char(0)) THEN lower(hex(i."grp")) ELSE CAST(i."grp" AS TEXT) END, '')) NOT IN (SELECT held.value FROM json_each(?) AS held) AND i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    ORDER BY i."due", i."id"
    LIMIT 30)
    ) AS row
    ORDER BY row.due NULLS FIRST, row.id
    LIMIT 30
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ranked.due NULLS FIRST, ranked.id
LIMIT ?;

-- columns: 
SELECT
  c.name,
  c.type,
  c."notnull" = 0 AND c.pk = 0 AS nullable,
  CASE
    WHEN c.hidden IN (2, 3) THEN 'always'
    WHEN c.dflt_value IS NOT NULL OR (c.pk = 1 AND upper(c.type) = 'INTEGER') THEN 'byDefault'
    ELSE 'never'
  END AS generated,
  NULL AS precision
FROM pragma_table_xinfo('jobs', 'main') AS c
ORDER BY c.cid;

-- before deadLetter: reasons, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    CAST(json_extract(?, '$[' || g.key || ']') AS TEXT) AS reason
  FROM json_each(?) AS g
)
INSERT INTO "graves" ("pay", "tries", "reason")
SELECT i."pay", 1, given.reason
FROM given JOIN "jobs" AS i ON i."id" = given.id
ORDER BY i."id";

-- deadLetter: ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id)
RETURNING CAST("id" AS TEXT) AS id;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "grp", "due")
VALUES (CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS TEXT)),
  (CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS TEXT))
RETURNING CAST("id" AS TEXT) AS id;

-- release: ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "att" = max(i."att" - 1, 1)
FROM given
WHERE i."id" = given.id
RETURNING CAST("id" AS TEXT) AS id;

-- retryAfter: delaysMs, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    CAST(json_extract(?, '$[' || g.key || ']') AS REAL) AS delay
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "due" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (given.delay / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z')
FROM given
WHERE i."id" = given.id
RETURNING CAST("id" AS TEXT) AS id;

-- take: ids, group, key
UPDATE "jobs" AS i
SET "att" = min(coalesce(i."att", 1), 32767 - 1) + 1
WHERE i."id" IN (SELECT CAST(g.value AS INTEGER) FROM json_each(?) AS g)
  AND (i."grp" = CAST(? AS TEXT) AND (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND ('job-' || coalesce(CAST(i."id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr(i."grp", char(0)) THEN lower(hex(i."grp")) ELSE CAST(i."grp" AS TEXT) END, '')) = CAST(? AS TEXT)) IS TRUE
RETURNING CAST("id" AS TEXT) AS id,
  NULL AS token,
  CAST("att" AS TEXT) AS attempt,
  CAST("grp" AS TEXT) AS "group",
  ('job-' || coalesce(CAST("id" AS TEXT), '') || '/' || coalesce(CASE WHEN instr("grp", char(0)) THEN lower(hex("grp")) ELSE CAST("grp" AS TEXT) END, '')) AS key,
  CAST("pay" AS TEXT) AS c0,
  "due" AS due;
