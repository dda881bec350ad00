-- ack, 1: id
DELETE FROM i USING `app`.`jobs` AS i FORCE INDEX (PRIMARY)
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
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
FOR UPDATE;

-- ack, 3: given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- claim, 1: group, group, group
SELECT CAST(ready.id AS CHAR) AS id, CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))) END AS `lock`, ready.place
FROM (
  SELECT due_head.id, due_head.value, due_head.place, ROW_NUMBER() OVER (ORDER BY due_head.due, due_head.id) AS turn
  FROM (
    SELECT i.`due` AS due, i.`id` AS id, i.`grp` AS value, COALESCE(CAST(i.`due` AS CHAR), '') AS place
    FROM (SELECT ? AS value, (SELECT h.`id`
      FROM `app`.`jobs` AS h
      WHERE h.`grp` = ? AND CAST(CONVERT(h.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY)
      ORDER BY h.`due`, h.`id`
      LIMIT 1) AS id) AS heads STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = heads.id
    WHERE (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
  ) AS due_head
  ORDER BY turn
  LIMIT 500
) AS ready
WHERE IS_FREE_LOCK(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))) END) = 1
ORDER BY ready.turn;

-- claim, 2: lock
SELECT GET_LOCK(?, 0) AS taken;

-- claim, 3: id, group, lock, place
SELECT CAST(i.`id` AS CHAR) AS id,
  NULL AS token,
  CAST(i.`att` AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0, 1 AS turn
FROM `app`.`jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND CAST(CONVERT(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))) END USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND COALESCE(CAST(i.`due` AS CHAR), '') = ? AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

-- claim of every group, 1: after, after, after
SELECT CAST(ready.id AS CHAR) AS id, CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))) END AS `lock`, ready.place
FROM (
  SELECT due_head.id, due_head.value, due_head.place, ROW_NUMBER() OVER (ORDER BY due_head.due, due_head.id) AS turn
  FROM (
    SELECT i.`due` AS due, i.`id` AS id, i.`grp` AS value, COALESCE(CAST(i.`due` AS CHAR), '') AS place
    FROM (
    SELECT seen.value, (SELECT h.`id`
      FROM `app`.`jobs` AS h
      WHERE h.`grp` = seen.value
      ORDER BY h.`due`, h.`id`
      LIMIT 1) AS id
    FROM (
      (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE g.`grp` > ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE ? IS NULL AND g.`grp` IS NOT NULL
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE g.`grp` <= ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      )
      LIMIT 500
    ) AS seen
    LIMIT 500
  ) AS heads STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = heads.id
    WHERE (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
  ) AS due_head
  ORDER BY turn
  LIMIT 500
) AS ready
WHERE IS_FREE_LOCK(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(ready.value AS CHAR))) END) = 1
ORDER BY ready.turn;

-- claim of every group, 2: lock
SELECT GET_LOCK(?, 0) AS taken;

-- claim of every group, 3: id, lock, place
SELECT CAST(i.`id` AS CHAR) AS id,
  NULL AS token,
  CAST(i.`att` AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0, 1 AS turn
FROM `app`.`jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND CAST(CONVERT(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))) END USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND COALESCE(CAST(i.`due` AS CHAR), '') = ? AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

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
WHERE c.TABLE_SCHEMA = 'app' AND c.TABLE_NAME = 'jobs'
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
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
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
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- deadLetter, 3: given
DELETE i FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id;

-- insert, 1: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
INSERT INTO `app`.`jobs` (`id`, `grp`, `due`)
VALUES (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6))),
  (CAST(? AS DECIMAL(20)), ?, CAST(? AS DATETIME(6)));

-- retry, 1: id
UPDATE `app`.`jobs` AS i FORCE INDEX (PRIMARY)
SET i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1
WHERE i.`id` = CAST(? AS DECIMAL(20));

-- retry, 2: given
SELECT CAST(i.`id` AS CHAR) AS id
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
FOR UPDATE;

-- retry, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

-- retryAfter, 1: delay, id
UPDATE `app`.`jobs` AS i FORCE INDEX (PRIMARY)
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(CAST(? AS DECIMAL(30, 3)), 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)),
    i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1
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
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
FOR UPDATE;

-- retryAfter, 3: given
UPDATE (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
SET i.`due` = TIMESTAMPADD(MICROSECOND, CAST(LEAST(g.delay, 189000000000000) * 1000 AS SIGNED), UTC_TIMESTAMP(6)),
    i.`att` = LEAST(COALESCE(i.`att`, 1), 32767 - 1) + 1;

-- take, 1: given, group
SELECT CAST(i.`id` AS CHAR) AS id, CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))) END AS shared, g.place AS turn
FROM (SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id DECIMAL(20) PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason',
  place BIGINT PATH '$.place'
)) AS listed) AS g STRAIGHT_JOIN `app`.`jobs` AS i FORCE INDEX (PRIMARY) ON i.`id` = g.id
WHERE CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6)) AND IS_FREE_LOCK(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))) END) = 1;

-- take, 2: lock
SELECT GET_LOCK(?, 0) AS taken;

-- take, 3: id, group, lock
SELECT CAST(i.`id` AS CHAR) AS id,
  NULL AS token,
  CAST(i.`att` AS CHAR) AS attempt,
  CAST(i.`grp` AS CHAR) AS `group`,
  CAST(i.`grp` AS CHAR) AS `key`,
  CAST(i.`pay` AS CHAR) AS c0, 1 AS turn
FROM `app`.`jobs` AS i FORCE INDEX (PRIMARY)
WHERE i.`id` = CAST(? AS DECIMAL(20)) AND CAST(CONVERT(i.`grp` USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND CAST(CONVERT(CASE WHEN CHAR_LENGTH(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR)))) > 64 THEN SHA2(CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))), 256) ELSE CONCAT('app', '.', CONCAT('jobs/', CAST(i.`grp` AS CHAR))) END USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY) AND (i.`due` IS NULL OR i.`due` <= UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

-- unlock: 
DO RELEASE_ALL_LOCKS();

-- walkedTo of every group: after, after, after
SELECT CAST(seen.value AS CHAR) AS `group`
FROM (
      (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE g.`grp` > ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE ? IS NULL AND g.`grp` IS NOT NULL
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      ) UNION ALL (
      SELECT g.`grp` AS value
      FROM `app`.`jobs` AS g
      WHERE g.`grp` <= ?
      GROUP BY g.`grp`
      ORDER BY g.`grp`
      LIMIT 500
      )
      LIMIT 500
) AS seen
LIMIT 1 OFFSET 499;
