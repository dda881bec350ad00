-- ack, 1: id, token, attempt
DELETE FROM i USING `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND i.`lease` = CAST(? AS DATETIME(6)) AND i.`att` = CAST(? AS SIGNED);

-- ack, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE;

-- ack, 3: given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- ackOrFail, 1: id, token, attempt
DELETE FROM i USING `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND i.`lease` = CAST(? AS DATETIME(6)) AND i.`att` = CAST(? AS SIGNED);

-- ackOrFail, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE;

-- ackOrFail, 3: given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- claim, 1: leaseMs, group, group, group, group, group, group, limit
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)) AS CHAR) AS token,
  CAST(LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1 AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0,
  ready.turn AS turn,
  (SELECT COUNT(*) FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> ready.id) AS stale
FROM (
  SELECT due_head.id, due_head.value, due_head.place, ROW_NUMBER() OVER (ORDER BY due_head.priority IS NULL, due_head.priority, due_head.id) AS turn
  FROM (
    SELECT i.`prio` AS priority, i.`id` AS id, i.`grp` AS value, COALESCE(CAST(i.`prio` AS CHAR), '') AS place
    FROM (SELECT ? AS value, COALESCE((SELECT h.`id`
      FROM `jobs` AS h
      WHERE h.`grp` = ? AND CAST(CONVERT(h.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND h.`prio` IS NOT NULL
      ORDER BY h.`prio`, h.`id`
      LIMIT 1), (SELECT h.`id`
      FROM `jobs` AS h
      WHERE h.`grp` = ? AND CAST(CONVERT(h.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND h.`prio` IS NULL
      ORDER BY h.`prio`, h.`id`
      LIMIT 1)) AS id) AS heads STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = heads.id
    WHERE (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6))
  ) AS due_head
  ORDER BY turn
  LIMIT 500
) AS ready STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = ready.id
WHERE CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND i.`grp` = ready.value AND COALESCE(CAST(i.`prio` AS CHAR), '') = ready.place AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6))
  AND NOT EXISTS (SELECT 1 FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> ready.id AND o.`lease` > UTC_TIMESTAMP(6))
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- claim, 2: given
SELECT CAST(o.`id` AS CHAR) AS id, CAST(i.`id` AS CHAR) AS head
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g
STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
STRAIGHT_JOIN `jobs` AS o ON o.`grp` = i.`grp` AND o.`lease` IS NOT NULL
WHERE o.`id` <> i.`id`;

-- claim, 3: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE i.`lease` <= UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- claim, 4: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = NULL;

-- claim, 5: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = CAST(g.token AS DATETIME(6)),
    i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

-- claim of every group, 1: leaseMs, after, after, after, limit
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)) AS CHAR) AS token,
  CAST(LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1 AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0,
  ready.turn AS turn,
  (SELECT COUNT(*) FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> ready.id) AS stale
FROM (
  SELECT due_head.id, due_head.value, due_head.place, ROW_NUMBER() OVER (ORDER BY due_head.priority IS NULL, due_head.priority, due_head.id) AS turn
  FROM (
    SELECT i.`prio` AS priority, i.`id` AS id, i.`grp` AS value, COALESCE(CAST(i.`prio` AS CHAR), '') AS place
    FROM (
    SELECT seen.value, COALESCE((SELECT h.`id`
      FROM `jobs` AS h
      WHERE h.`grp` = seen.value AND h.`prio` IS NOT NULL
      ORDER BY h.`prio`, h.`id`
      LIMIT 1), (SELECT h.`id`
      FROM `jobs` AS h
      WHERE h.`grp` = seen.value AND h.`prio` IS NULL
      ORDER BY h.`prio`, h.`id`
      LIMIT 1)) AS id
    FROM (
      (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE g.`grp` > ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE ? IS NULL AND g.`grp` IS NOT NULL
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE g.`grp` <= ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      )
      LIMIT 500
    ) AS seen
    LIMIT 500
  ) AS heads STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = heads.id
    WHERE (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6))
  ) AS due_head
  ORDER BY turn
  LIMIT 500
) AS ready STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = ready.id
WHERE i.`grp` = ready.value AND COALESCE(CAST(i.`prio` AS CHAR), '') = ready.place AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6))
  AND NOT EXISTS (SELECT 1 FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> ready.id AND o.`lease` > UTC_TIMESTAMP(6))
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- claim of every group, 2: given
SELECT CAST(o.`id` AS CHAR) AS id, CAST(i.`id` AS CHAR) AS head
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g
STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
STRAIGHT_JOIN `jobs` AS o ON o.`grp` = i.`grp` AND o.`lease` IS NOT NULL
WHERE o.`id` <> i.`id`;

-- claim of every group, 3: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE i.`lease` <= UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- claim of every group, 4: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = NULL;

-- claim of every group, 5: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = CAST(g.token AS DATETIME(6)),
    i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

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

-- deadLetter, 1: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE;

-- deadLetter, 2: given
INSERT INTO `graves` (`pay`, `tries`, `reason`)
SELECT i.`pay`, 1, g.reason
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- deadLetter, 3: given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- extend, 1: leaseMs, given
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)) AS CHAR) AS token
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt AND i.`lease` > UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- extend, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt AND i.`lease` > UTC_TIMESTAMP(6);

-- extend, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = CAST(g.token AS DATETIME(6));

-- extendable, 1: leaseMs, given
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(i.`lease` AS CHAR) AS held,
  CAST(TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)) AS CHAR) AS until
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt AND i.`lease` > UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- extendable, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt AND i.`lease` > UTC_TIMESTAMP(6);

-- insert, 1: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO `jobs` (`id`, `grp`, `due`)
VALUES (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6))),
  (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6)));

-- lockOrFail, 1: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt AND i.`lease` > UTC_TIMESTAMP(6)
FOR UPDATE;

-- lookAgain: given, given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
WHERE EXISTS (
  SELECT 1
  FROM `jobs` AS o
  WHERE o.`grp` = i.`grp` AND o.`lease` > UTC_TIMESTAMP(6) AND o.`id` <> i.`id` AND (o.`id` < i.`id` OR NOT EXISTS (
    SELECT 1 FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g WHERE o.`id` = g.id
  ))
);

-- readBack, 1: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- readBack, 2: given
SELECT CAST(i.`id` AS CHAR) AS id,
  CASE
    WHEN i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt THEN 'ours'
    WHEN i.`lease` IS NOT NULL THEN 'taken'
    WHEN FALSE THEN 'settled'
    ELSE 'other'
  END AS outcome
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
FOR UPDATE SKIP LOCKED;

-- release, 1: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE SKIP LOCKED;

-- release, 2: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = NULL,
    i.`att` = GREATEST(i.`att` - 1, 1);

-- retry, 1: id, token, attempt
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`lease` = NULL
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND i.`lease` = CAST(? AS DATETIME(6)) AND i.`att` = CAST(? AS SIGNED);

-- retry, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE;

-- retry, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = NULL;

-- retryAfter, 1: delay, id, token, attempt
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)),
    i.`lease` = NULL
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND i.`lease` = CAST(? AS DATETIME(6)) AND i.`att` = CAST(? AS SIGNED);

-- retryAfter, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id AND i.`lease` = CAST(g.token AS DATETIME(6)) AND i.`att` = g.attempt
FOR UPDATE;

-- retryAfter, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(g.delay, 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)),
    i.`lease` = NULL;

-- take, 1: given, group
SELECT CAST(i.`id` AS CHAR) AS id, CAST(i.`grp` AS CHAR) AS shared, g.place AS turn
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason',
  place BIGINT PATH '$.place'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6)) AND NOT EXISTS (SELECT 1 FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> i.`id` AND o.`lease` > UTC_TIMESTAMP(6));

-- take, 2: leaseMs, given, group
SELECT CAST(i.`id` AS CHAR) AS id,
  CAST(TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)) AS CHAR) AS token,
  CAST(LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1 AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0,
  g.place AS turn,
  (SELECT COUNT(*) FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> i.`id`) AS stale
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason',
  place BIGINT PATH '$.place'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND (i.`lease` IS NULL OR i.`lease` <= UTC_TIMESTAMP(6)) AND NOT EXISTS (SELECT 1 FROM `jobs` AS o WHERE o.`grp` = i.`grp` AND o.`lease` IS NOT NULL AND o.`id` <> i.`id` AND o.`lease` > UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

-- take, 3: given
SELECT CAST(o.`id` AS CHAR) AS id, CAST(i.`id` AS CHAR) AS head
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g
STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
STRAIGHT_JOIN `jobs` AS o ON o.`grp` = i.`grp` AND o.`lease` IS NOT NULL
WHERE o.`id` <> i.`id`;

-- take, 4: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE i.`lease` <= UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- take, 5: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = NULL;

-- take, 6: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`lease` = CAST(g.token AS DATETIME(6)),
    i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

-- tokens: given
SELECT CAST(i.`id` AS CHAR) AS id, CAST(CAST(i.`lease` AS DATETIME(6)) AS CHAR) AS token
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- walkedTo of every group: after, after, after
SELECT CAST(seen.value AS CHAR) AS `group`
FROM (
      (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE g.`grp` > ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE ? IS NULL AND g.`grp` IS NOT NULL
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `jobs` AS g
      WHERE g.`grp` <= ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      )
      LIMIT 500
) AS seen
LIMIT 1 OFFSET 499;
