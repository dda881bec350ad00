-- ack: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt)
RETURNING CAST("id" AS TEXT) AS id;

-- ackOrFail: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt)
RETURNING CAST("id" AS TEXT) AS id;

-- after ackOrFail: ids
SELECT CASE WHEN changes() = json_array_length(?) THEN 1 ELSE json_extract('{}', 'intray: this claim is lost, rows acknowledged: ' || changes()) END AS done;

-- before claim: group
WITH RECURSIVE heads AS (
  SELECT seen.value, coalesce((SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NOT NULL
      ORDER BY h."prio", h."id"
      LIMIT 1), (SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NULL
      ORDER BY h."prio", h."id"
      LIMIT 1)) AS id
  FROM (SELECT CAST(? AS TEXT) AS value) AS seen
)
UPDATE "jobs" AS i
SET "lease" = NULL
WHERE i."id" IN (
  SELECT o."id"
  FROM heads
  CROSS JOIN "jobs" AS i ON i."id" = heads.id
  CROSS JOIN "jobs" AS o ON o."grp" = heads.value AND o."lease" IS NOT NULL AND o."id" <> heads.id
  WHERE (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND (i."lease" IS NULL OR i."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND o."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
);

-- claim: group, leaseMs, limit
WITH RECURSIVE heads AS (
  SELECT seen.value, coalesce((SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NOT NULL
      ORDER BY h."prio", h."id"
      LIMIT 1), (SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NULL
      ORDER BY h."prio", h."id"
      LIMIT 1)) AS id
  FROM (SELECT CAST(? AS TEXT) AS value) AS seen
)
UPDATE "jobs" AS i
SET "lease" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'),
    "att" = min(coalesce(i."att", 1), 32767 - 1) + 1
WHERE i."id" IN (
  SELECT ready.id FROM (
    SELECT i."prio" AS priority, i."id" AS id
    FROM heads CROSS JOIN "jobs" AS i ON i."id" = heads.id
    WHERE (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND (i."lease" IS NULL OR i."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND NOT EXISTS (SELECT 1 FROM "jobs" AS o WHERE o."grp" = heads.value AND o."lease" IS NOT NULL AND o."id" <> heads.id)
  ) AS ready
  ORDER BY ready.priority NULLS LAST, ready.id
  LIMIT ?
)
RETURNING CAST("id" AS TEXT) AS id,
  "lease" AS token,
  CAST("att" AS TEXT) AS attempt,
  CAST("grp" AS TEXT) AS "group",
  CAST("grp" AS TEXT) AS key,
  CAST("pay" AS TEXT) AS c0,
  CAST("prio" AS TEXT) AS priority;

-- before claim of every group: after, after, after, after
WITH RECURSIVE walk AS (
  SELECT iif(CAST(? AS TEXT) IS NULL, (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" IS NOT NULL
    ORDER BY g."grp"
    LIMIT 1), (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > walk.value
    ORDER BY g."grp"
    LIMIT 1)
  FROM walk
  WHERE walk.value IS NOT NULL
  LIMIT 500
), wrapped AS (
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > wrapped.value AND g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)
  FROM wrapped
  WHERE wrapped.value IS NOT NULL
  LIMIT 500
), heads AS (
  SELECT seen.value, coalesce((SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NOT NULL
      ORDER BY h."prio", h."id"
      LIMIT 1), (SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NULL
      ORDER BY h."prio", h."id"
      LIMIT 1)) AS id
  FROM (
    SELECT walk.value FROM walk WHERE walk.value IS NOT NULL
    UNION ALL
    SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL
    LIMIT 500
  ) AS seen
)
UPDATE "jobs" AS i
SET "lease" = NULL
WHERE i."id" IN (
  SELECT o."id"
  FROM heads
  CROSS JOIN "jobs" AS i ON i."id" = heads.id
  CROSS JOIN "jobs" AS o ON o."grp" = heads.value AND o."lease" IS NOT NULL AND o."id" <> heads.id
  WHERE (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND (i."lease" IS NULL OR i."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND o."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
);

-- claim of every group: after, after, after, after, leaseMs, limit
WITH RECURSIVE walk AS (
  SELECT iif(CAST(? AS TEXT) IS NULL, (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" IS NOT NULL
    ORDER BY g."grp"
    LIMIT 1), (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > walk.value
    ORDER BY g."grp"
    LIMIT 1)
  FROM walk
  WHERE walk.value IS NOT NULL
  LIMIT 500
), wrapped AS (
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > wrapped.value AND g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)
  FROM wrapped
  WHERE wrapped.value IS NOT NULL
  LIMIT 500
), heads AS (
  SELECT seen.value, coalesce((SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NOT NULL
      ORDER BY h."prio", h."id"
      LIMIT 1), (SELECT h."id"
      FROM "jobs" AS h
      WHERE h."grp" = seen.value AND h."prio" IS NULL
      ORDER BY h."prio", h."id"
      LIMIT 1)) AS id
  FROM (
    SELECT walk.value FROM walk WHERE walk.value IS NOT NULL
    UNION ALL
    SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL
    LIMIT 500
  ) AS seen
)
UPDATE "jobs" AS i
SET "lease" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'),
    "att" = min(coalesce(i."att", 1), 32767 - 1) + 1
WHERE i."id" IN (
  SELECT ready.id FROM (
    SELECT i."prio" AS priority, i."id" AS id
    FROM heads CROSS JOIN "jobs" AS i ON i."id" = heads.id
    WHERE (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND (i."lease" IS NULL OR i."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND NOT EXISTS (SELECT 1 FROM "jobs" AS o WHERE o."grp" = heads.value AND o."lease" IS NOT NULL AND o."id" <> heads.id)
  ) AS ready
  ORDER BY ready.priority NULLS LAST, ready.id
  LIMIT ?
)
RETURNING CAST("id" AS TEXT) AS id,
  "lease" AS token,
  CAST("att" AS TEXT) AS attempt,
  CAST("grp" AS TEXT) AS "group",
  CAST("grp" AS TEXT) AS key,
  CAST("pay" AS TEXT) AS c0,
  CAST("prio" AS TEXT) AS priority;

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

-- before deadLetter: tokens, attempts, reasons, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt,
    CAST(json_extract(?, '$[' || g.key || ']') AS TEXT) AS reason
  FROM json_each(?) AS g
)
INSERT INTO "graves" ("pay", "tries", "reason")
SELECT i."pay", 1, given.reason
FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt
ORDER BY i."id";

-- deadLetter: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
DELETE FROM "jobs"
WHERE "id" IN (SELECT i."id" FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt)
RETURNING CAST("id" AS TEXT) AS id;

-- extend: tokens, attempts, ids, leaseMs
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z')
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt AND i."lease" > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
RETURNING CAST("id" AS TEXT) AS id, 'extended' AS outcome, "lease" AS token;

-- extendable: tokens, attempts, ids, leaseMs
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
SELECT CAST(given.id AS TEXT) AS id,
  'ours' AS outcome,
  CAST(i."lease" AS TEXT) AS held,
  CAST(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z') AS TEXT) AS until
FROM given JOIN "jobs" AS i ON i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt AND i."lease" > strftime('%Y-%m-%dT%H:%M:%fZ', 'now');

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO "jobs" ("id", "grp", "due")
VALUES (CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS TEXT)),
  (CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS TEXT))
RETURNING CAST("id" AS TEXT) AS id;

-- lockOrFail: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = i."lease"
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt AND i."lease" > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
RETURNING CAST("id" AS TEXT) AS id;

-- after lockOrFail: ids
SELECT CASE WHEN changes() = json_array_length(?) THEN 1 ELSE json_extract('{}', 'intray: this claim is lost, rows locked: ' || changes()) END AS done;

-- readBack: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
SELECT CAST(given.id AS TEXT) AS id,
  CASE
    WHEN i."id" IS NULL THEN 'gone'
    WHEN i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt THEN 'ours'
    WHEN i."lease" IS NOT NULL THEN 'taken'
    WHEN false THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM given LEFT JOIN "jobs" AS i ON i."id" = given.id;

-- release: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = NULL,
    "att" = max(i."att" - 1, 1)
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt
RETURNING CAST("id" AS TEXT) AS id;

-- retry: tokens, attempts, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt
RETURNING CAST("id" AS TEXT) AS id;

-- retryAfter: tokens, attempts, delaysMs, ids
WITH given AS (
  SELECT CAST(g.value AS INTEGER) AS id,
    json_extract(?, '$[' || g.key || ']') AS token,
    CAST(json_extract(?, '$[' || g.key || ']') AS INTEGER) AS attempt,
    CAST(json_extract(?, '$[' || g.key || ']') AS REAL) AS delay
  FROM json_each(?) AS g
)
UPDATE "jobs" AS i
SET "due" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (given.delay / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'),
    "lease" = NULL
FROM given
WHERE i."id" = given.id AND i."lease" = given.token AND i."att" = given.attempt
RETURNING CAST("id" AS TEXT) AS id;

-- take, 1: ids, group
SELECT CAST(i."id" AS TEXT) AS id, i."grp" AS shared
FROM json_each(?) AS g CROSS JOIN "jobs" AS i ON i."id" = CAST(g.value AS INTEGER)
WHERE (i."grp" = CAST(? AS TEXT) AND (i."due" IS NULL OR i."due" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND (i."lease" IS NULL OR i."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) AND NOT EXISTS (SELECT 1 FROM "jobs" AS o WHERE o."grp" = i."grp" AND o."lease" > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AND o."id" <> i."id")) IS TRUE
ORDER BY g.key;

-- take, 2: ids
UPDATE "jobs" AS s
SET "lease" = NULL
WHERE s."id" IN (
  SELECT o."id"
  FROM json_each(?) AS g
  CROSS JOIN "jobs" AS i ON i."id" = CAST(g.value AS INTEGER)
  CROSS JOIN "jobs" AS o ON o."grp" = i."grp" AND o."lease" <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AND o."id" <> i."id"
);

-- take, 3: leaseMs, ids
UPDATE "jobs" AS i
SET "lease" = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (? / 1000.0) || ' seconds'), '9999-12-31T23:59:59.999Z'),
    "att" = min(coalesce(i."att", 1), 32767 - 1) + 1
WHERE i."id" IN (SELECT CAST(g.value AS INTEGER) FROM json_each(?) AS g)
RETURNING CAST("id" AS TEXT) AS id,
  "lease" AS token,
  CAST("att" AS TEXT) AS attempt,
  CAST("grp" AS TEXT) AS "group",
  CAST("grp" AS TEXT) AS key,
  CAST("pay" AS TEXT) AS c0,
  CAST("prio" AS TEXT) AS priority;

-- tokens: ids
SELECT CAST(i."id" AS TEXT) AS id, i."lease" AS token
FROM "jobs" AS i
WHERE i."id" IN (SELECT CAST(g.value AS INTEGER) FROM json_each(?) AS g);

-- walkedTo of every group: after, after, after, after
WITH RECURSIVE walk AS (
  SELECT iif(CAST(? AS TEXT) IS NULL, (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" IS NOT NULL
    ORDER BY g."grp"
    LIMIT 1), (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > walk.value
    ORDER BY g."grp"
    LIMIT 1)
  FROM walk
  WHERE walk.value IS NOT NULL
  LIMIT 500
), wrapped AS (
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1) AS value
  UNION ALL
  SELECT (SELECT g."grp"
    FROM "jobs" AS g
    WHERE g."grp" > wrapped.value AND g."grp" <= CAST(? AS TEXT)
    ORDER BY g."grp"
    LIMIT 1)
  FROM wrapped
  WHERE wrapped.value IS NOT NULL
  LIMIT 500
)
SELECT CAST(seen.value AS TEXT) AS "group"
FROM (
    SELECT walk.value FROM walk WHERE walk.value IS NOT NULL
    UNION ALL
    SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL
    LIMIT 500
  ) AS seen
LIMIT 1 OFFSET 499;
