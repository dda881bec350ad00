-- ack: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token)
RETURNING CAST("id" AS TEXT) AS id;

-- ackOrFail: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token)
RETURNING CAST("id" AS TEXT) AS id;

-- after ackOrFail: ids
SELECT CASE WHEN changes() = json_array_length(?) THEN 1 ELSE json_extract('{}', 'intray: this claim is lost, rows acknowledged: ' || changes()) END AS done;

-- claim: now, leaseMs, now, limit, now, now, limit, limit
UPDATE "jobs" AS i
SET "lease" = substr(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ?, (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'), 1, 23) || printf('%03dZ', abs(random() % 1000))
WHERE i."id" IN (
  SELECT candidate.id FROM (
    SELECT * FROM (
    SELECT * FROM (SELECT i."due" AS due, i."id" AS id
    FROM "jobs" AS i
    WHERE (i."lease" IS NULL OR i."lease" <= ?) AND i."due" IS NULL
    ORDER BY i."due", i."id"
    LIMIT ?)
    UNION ALL
    SELECT * FROM (SELECT i."due" AS due, i."id" AS id
    FROM "jobs" AS i
    WHERE (i."lease" IS NULL OR i."lease" <= ?) AND i."due" <= ?
    ORDER BY i."due", i."id"
    LIMIT ?)
    ) AS row
    ORDER BY row.due NULLS FIRST, row.id
    LIMIT ?
  ) AS candidate
)
RETURNING CAST("id" AS TEXT) AS id,
  "lease" AS token,
  NULL AS attempt,
  NULL AS "group",
  NULL AS key,
  "due" AS due;

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

-- deadLetter: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "due" = NULL,
    "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token
RETURNING CAST("id" AS TEXT) AS id;

-- extend: tokens, ids, now, leaseMs, now
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = substr(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ?, (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'), 1, 23) || printf('%03dZ', abs(random() % 1000))
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."lease" > ?
RETURNING CAST("id" AS TEXT) AS id, 'extended' AS outcome, "lease" AS token;

-- extendable: tokens, ids, now, leaseMs, now
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
SELECT CAST(given.id AS TEXT) AS id,
  'ours' AS outcome,
  CAST(i."lease" AS TEXT) AS held,
  CAST(substr(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ?, (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'), 1, 23) || printf('%03dZ', abs(random() % 1000)) AS TEXT) AS until
FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."lease" > ?;

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "due", "lease")
VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)),
  (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))
RETURNING CAST("id" AS TEXT) AS id;

-- lockOrFail: tokens, ids, now
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = i."lease"
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."lease" > ?
RETURNING CAST("id" AS TEXT) AS id;

-- after lockOrFail: ids
SELECT CASE WHEN changes() = json_array_length(?) THEN 1 ELSE json_extract('{}', 'intray: this claim is lost, rows locked: ' || changes()) END AS done;

-- readBack: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
SELECT CAST(given.id AS TEXT) AS id,
  CASE
    WHEN i."id" IS NULL THEN 'gone'
    WHEN i."id" = given.id AND i."lease" = given.token THEN 'ours'
    WHEN i."lease" IS NOT NULL THEN 'taken'
    WHEN false THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM given LEFT JOIN "jobs" AS i ON i."id" = given.id;

-- release: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token
RETURNING CAST("id" AS TEXT) AS id;

-- retry: tokens, ids
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token
RETURNING CAST("id" AS TEXT) AS id;

-- retryAfter: tokens, delaysMs, ids, now
WITH given AS (
  SELECT CAST(g.value AS TEXT) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS REAL) AS delay
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "due" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ?, (given.delay / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'),
    "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token
RETURNING CAST("id" AS TEXT) AS id;

-- take, 1: ids, now, now
SELECT CAST(i."id" AS TEXT) AS id, NULL AS shared
FROM json_each(?) AS g CROSS JOIN "jobs" AS i ON i."id" = CAST(g.value AS TEXT)
WHERE ((i."due" IS NULL OR i."due" <= ?) AND (i."lease" IS NULL OR i."lease" <= ?)) IS TRUE
ORDER BY g.key;

-- take, 2: now, leaseMs, ids
UPDATE "jobs" AS i
SET "lease" = substr(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ?, (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'), 1, 23) || printf('%03dZ', abs(random() % 1000))
WHERE i."id" IN (SELECT CAST(g.value AS TEXT) FROM json_each(?) AS g)
RETURNING CAST("id" AS TEXT) AS id,
  "lease" AS token,
  NULL AS attempt,
  NULL AS "group",
  NULL AS key,
  "due" AS due;

-- tokens: ids
SELECT CAST(i."id" AS TEXT) AS id, i."lease" AS token
FROM "jobs" AS i
WHERE i."id" IN (SELECT CAST(g.value AS TEXT) FROM json_each(?) AS g);
