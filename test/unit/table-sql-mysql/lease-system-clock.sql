-- ack, 1: id, token
DELETE FROM i USING `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = ? AND i.`lease` = CAST(? AS DATETIME(6));

-- ack, 2: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE;

-- ack, 3: given, given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii);

-- ackOrFail, 1: id, token
DELETE FROM i USING `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = ? AND i.`lease` = CAST(? AS DATETIME(6));

-- ackOrFail, 2: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE;

-- ackOrFail, 3: given, given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii);

-- claim, 1: leaseMs, now, now, now, now, now, now, limit
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST((TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))) + INTERVAL FLOOR(RAND() * 1000) MICROSECOND) AS CHAR) AS token,
  NULL AS attempt,
  NULL AS `group`,
  NULL AS `key`,
  candidate.turn AS turn
FROM (
  SELECT due_row.*, ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id) AS turn
  FROM (
    SELECT each_row.* FROM (
    (SELECT i.`due` AS due, i.`id` AS id
    FROM `jobs` AS i
    WHERE (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6))) AND i.`due` IS NULL
    ORDER BY i.`due`, i.`id`
    LIMIT 40)
    UNION ALL
    (SELECT i.`due` AS due, i.`id` AS id
    FROM `jobs` AS i
    WHERE (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6))) AND i.`due` <= CAST(? AS DATETIME(6))
    ORDER BY i.`due`, i.`id`
    LIMIT 40)
    ) AS each_row
    ORDER BY each_row.due, each_row.id
    LIMIT 40
  ) AS due_row
  ORDER BY turn
  LIMIT 40
) AS candidate STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = candidate.id
WHERE (i.`due` IS NULL OR i.`due` <= CAST(? AS DATETIME(6))) AND (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6)))
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- claim, 2: leaseMs, now, now, now, now, now, now, limit
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST((TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))) + INTERVAL FLOOR(RAND() * 1000) MICROSECOND) AS CHAR) AS token,
  NULL AS attempt,
  NULL AS `group`,
  NULL AS `key`,
  candidate.turn AS turn
FROM (
  SELECT due_row.*, ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id) AS turn
  FROM (
    SELECT each_row.* FROM (
    (SELECT i.`due` AS due, i.`id` AS id
    FROM `jobs` AS i
    WHERE (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6))) AND i.`due` IS NULL
    ORDER BY i.`due`, i.`id`
    LIMIT 5000)
    UNION ALL
    (SELECT i.`due` AS due, i.`id` AS id
    FROM `jobs` AS i
    WHERE (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6))) AND i.`due` <= CAST(? AS DATETIME(6))
    ORDER BY i.`due`, i.`id`
    LIMIT 5000)
    ) AS each_row
    ORDER BY each_row.due, each_row.id
    LIMIT 5000
  ) AS due_row
  ORDER BY turn
  LIMIT 5000
) AS candidate STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = candidate.id
WHERE (i.`due` IS NULL OR i.`due` <= CAST(? AS DATETIME(6))) AND (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6)))
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- claim, 3: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`lease` = CAST(g.token AS DATETIME(6));

-- columns: 
SELECT
  c.COLUMN_NAME AS name,
  CONCAT(c.COLUMN_TYPE, CASE WHEN c.DATA_TYPE = 'timestamp' AND NOT (UPPER(@@session.time_zone) IN ('+00:00', 'UTC')
    OR (@@session.time_zone = 'SYSTEM' AND @@system_time_zone IN ('UTC', 'GMT'))) THEN ' in the time zone of the session' ELSE '' END) AS type,
  c.IS_NULLABLE = 'YES' AS nullable,
  CASE
    WHEN c.GENERATION_EXPRESSION > '' THEN 'always'
    WHEN c.EXTRA LIKE '%auto_increment%' OR NULLIF(c.COLUMN_DEFAULT, 'NULL') IS NOT NULL THEN 'byDefault'
    ELSE 'never'
  END AS `generated`,
  c.DATETIME_PRECISION AS `precision`,
  CASE
    WHEN c.DATA_TYPE = 'timestamp' AND NOT (UPPER(@@session.time_zone) IN ('+00:00', 'UTC')
    OR (@@session.time_zone = 'SYSTEM' AND @@system_time_zone IN ('UTC', 'GMT'))) THEN 'is a TIMESTAMP, which the session tells in its own time zone and not in UTC: let it be a DATETIME(6), or connect with the time zone +00:00'
    WHEN (c.DATA_TYPE = 'json' OR c.CHARACTER_SET_NAME <> 'ascii') AND NOT (@@session.character_set_client = 'utf8mb4'
    AND COALESCE(@@session.character_set_results, 'utf8mb4') = 'utf8mb4')
      THEN CONCAT('is text, and the session is in ', @@session.character_set_client, ', which does not have every character: connect with the character set utf8mb4')
    WHEN NOT (FIND_IN_SET('STRICT_TRANS_TABLES', @@session.sql_mode) > 0
    OR FIND_IN_SET('STRICT_ALL_TABLES', @@session.sql_mode) > 0) THEN 'is written in a session whose sql_mode has neither STRICT_TRANS_TABLES nor STRICT_ALL_TABLES, and so cuts or changes what does not fit without a word: add STRICT_TRANS_TABLES to the sql_mode of the server, or of each session of the pool'
  END AS fault
FROM information_schema.COLUMNS AS c
WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'jobs'
ORDER BY c.ORDINAL_POSITION;

-- deadLetter, 1: id, token
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`due` = NULL,
    i.`lease` = NULL
WHERE i.`id` = ? AND i.`lease` = CAST(? AS DATETIME(6));

-- deadLetter, 2: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE;

-- deadLetter, 3: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`due` = NULL,
    i.`lease` = NULL;

-- extend, 1: leaseMs, now, given, given, now
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST((TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))) + INTERVAL FLOOR(RAND() * 1000) MICROSECOND) AS CHAR) AS token
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`lease` > CAST(? AS DATETIME(6))
FOR UPDATE SKIP LOCKED;

-- extend, 2: given, given, now
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`lease` > CAST(? AS DATETIME(6));

-- extend, 3: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`lease` = CAST(g.token AS DATETIME(6));

-- extendable, 1: leaseMs, now, given, given, now
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(i.`lease` AS CHAR) AS held,
  CAST((TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))) + INTERVAL FLOOR(RAND() * 1000) MICROSECOND) AS CHAR) AS until
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`lease` > CAST(? AS DATETIME(6))
FOR UPDATE SKIP LOCKED;

-- extendable, 2: given, given, now
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`lease` > CAST(? AS DATETIME(6));

-- insert, 1: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO `jobs` (`id`, `due`, `lease`)
VALUES (?, CAST(? AS DATETIME(6)), CAST(? AS DATETIME(6))),
  (?, CAST(? AS DATETIME(6)), CAST(? AS DATETIME(6)));

-- lockOrFail, 1: given, given, now
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`lease` > CAST(? AS DATETIME(6))
FOR UPDATE;

-- readBack, 1: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii);

-- readBack, 2: given, given, given
SELECT CAST(i.`id` AS CHAR) AS id,
  CASE
    WHEN i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6)) THEN 'ours'
    WHEN i.`lease` IS NOT NULL THEN 'taken'
    WHEN FALSE THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
FOR UPDATE SKIP LOCKED;

-- release, 1: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE SKIP LOCKED;

-- release, 2: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`lease` = NULL;

-- retry, 1: id, token
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`lease` = NULL
WHERE i.`id` = ? AND i.`lease` = CAST(? AS DATETIME(6));

-- retry, 2: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE;

-- retry, 3: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`lease` = NULL;

-- retryAfter, 1: delay, now, id, token
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))),
    i.`lease` = NULL
WHERE i.`id` = ? AND i.`lease` = CAST(? AS DATETIME(6));

-- retryAfter, 2: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii) AND i.`lease` = CAST(g.token AS DATETIME(6))
FOR UPDATE;

-- retryAfter, 3: given, given, now
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(g.delay, 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))),
    i.`lease` = NULL;

-- take, 1: leaseMs, now, given, given, now, now
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST((TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), CAST(? AS DATETIME(6))) + INTERVAL FLOOR(RAND() * 1000) MICROSECOND) AS CHAR) AS token,
  NULL AS attempt,
  NULL AS `group`,
  NULL AS `key`,
  g.place AS turn
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason',
  place BIGINT PATH '$.place'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
WHERE (i.`due` IS NULL OR i.`due` <= CAST(? AS DATETIME(6))) AND (i.`lease` IS NULL OR i.`lease` <= CAST(? AS DATETIME(6)))
FOR UPDATE SKIP LOCKED;

-- take, 2: given, given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii)
SET i.`lease` = CAST(g.token AS DATETIME(6));

-- tokens: given, given
SELECT CAST(i.`id` AS CHAR) AS id, CAST(CAST(i.`lease` AS DATETIME(6)) AS CHAR) AS token
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id VARCHAR(768) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = CONVERT(JSON_UNQUOTE(JSON_EXTRACT(?, CONCAT('$[', g.n - 1, '].id'))) USING ascii);
