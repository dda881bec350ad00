-- ack, 1: id
DELETE FROM i USING `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20));

-- ack, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
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

-- candidates: group, group, keys, group, group, keys, limit
SELECT CAST(ranked.id AS CHAR) AS id, ranked.lock_key AS `key`
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY CAST(CONVERT(ahead.lock_key USING utf8mb4) AS BINARY) ORDER BY ahead.due, ahead.id
  ) AS turn
  FROM (
    SELECT each_row.* FROM (
    (SELECT i.`due` AS due, i.`id` AS id, CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) AS lock_key
    FROM `jobs` AS i
    WHERE i.`grp` = ? AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND NOT CAST(CONVERT(CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) USING utf8mb4) AS BINARY) IN (
      SELECT CAST(CONVERT(tried.name USING utf8mb4) AS BINARY)
      FROM JSON_TABLE(?, '$[*]' COLUMNS (name LONGTEXT PATH '$')) AS tried
    ) AND i.`due` IS NULL
    ORDER BY i.`due`, i.`id`
    LIMIT 30)
    UNION ALL
    (SELECT i.`due` AS due, i.`id` AS id, CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) AS lock_key
    FROM `jobs` AS i
    WHERE i.`grp` = ? AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND NOT CAST(CONVERT(CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) USING utf8mb4) AS BINARY) IN (
      SELECT CAST(CONVERT(tried.name USING utf8mb4) AS BINARY)
      FROM JSON_TABLE(?, '$[*]' COLUMNS (name LONGTEXT PATH '$')) AS tried
    ) AND i.`due` <= UTC_TIMESTAMP(6)
    ORDER BY i.`due`, i.`id`
    LIMIT 30)
    ) AS each_row
    ORDER BY each_row.due, each_row.id
    LIMIT 30
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ranked.due, ranked.id
LIMIT ?;

-- claim, 1: group, group, group, group
SELECT CAST(candidate.id AS CHAR) AS id, candidate.lock_name AS `lock`
FROM (
  SELECT each_row.* FROM (
    (SELECT i.`due` AS due, i.`id` AS id, CASE WHEN CHAR_LENGTH(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')))) > 64 THEN SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))), 256) ELSE CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))) END AS lock_name
    FROM `jobs` AS i
    WHERE i.`grp` = ? AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND IS_FREE_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')))) > 64 THEN SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))), 256) ELSE CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))) END) = 1 AND i.`due` IS NULL
    ORDER BY i.`due`, i.`id`
    LIMIT 200)
    UNION ALL
    (SELECT i.`due` AS due, i.`id` AS id, CASE WHEN CHAR_LENGTH(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')))) > 64 THEN SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))), 256) ELSE CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))) END AS lock_name
    FROM `jobs` AS i
    WHERE i.`grp` = ? AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND IS_FREE_LOCK(CASE WHEN CHAR_LENGTH(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')))) > 64 THEN SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))), 256) ELSE CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))) END) = 1 AND i.`due` <= UTC_TIMESTAMP(6)
    ORDER BY i.`due`, i.`id`
    LIMIT 200)
    ) AS each_row
    ORDER BY each_row.due, each_row.id
    LIMIT 200
) AS candidate
ORDER BY candidate.due, candidate.id;

-- claim, 2: lock
SELECT GET_LOCK(?, 0) AS taken;

-- claim, 3: id, group
SELECT CAST(i.`id` AS CHAR) AS id,
  NULL AS token,
  CAST(LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1 AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0, CASE WHEN CHAR_LENGTH(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')))) > 64 THEN SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))), 256) ELSE CONCAT(COALESCE(DATABASE(), ''), '.', CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), ''))) END AS `lock`
FROM `jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

-- claim, 4: lock
SELECT COALESCE(RELEASE_LOCK(?), 0) AS released;

-- claim, 5: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

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
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
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

-- insert, 1: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO `jobs` (`id`, `grp`, `due`)
VALUES (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6))),
  (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6)));

-- release, 1: id
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`att` = GREATEST(i.`att` - 1, 1)
WHERE i.`id` = CAST(? AS DECIMAL(20));

-- release, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
FOR UPDATE;

-- release, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`att` = GREATEST(i.`att` - 1, 1);

-- retryAfter, 1: delay, id
UPDATE `jobs` AS i FORCE INDEX (PRIMARY)
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6))
WHERE i.`id` = CAST(? AS DECIMAL(20));

-- retryAfter, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
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
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(g.delay, 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6));

-- take, 1: given, group, key
SELECT CAST(i.`id` AS CHAR) AS id,
  NULL AS token,
  CAST(LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1 AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0,
  g.place AS turn
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason',
  place BIGINT PATH '$.place'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND CAST(CONVERT(CONCAT('job-', COALESCE(CAST(i.`id` AS CHAR), ''), '/', COALESCE(CAST(i.`grp` AS CHAR), '')) USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY)
FOR UPDATE SKIP LOCKED;

-- take, 2: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

-- unlock: lock
SELECT COALESCE(RELEASE_LOCK(?), 0) AS released;
