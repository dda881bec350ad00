-- ack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- ackOrFail: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
IF (SELECT COUNT(*) FROM @answer) < @count
THROW 51001, N'rows acknowledged: not all, the claim of the others is lost', 1;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- claim: now, limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @window int = 40, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until
OUTPUT @base + picked.turn,
  inserted.[id],
  LOWER(CONVERT(varchar(36), inserted.[id])),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  NULL,
  NULL
INTO @claimed (turn, held, id, token, attempt, [group], [key])
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.[id] AS id
    FROM [jobs] AS l WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.[id] = candidate.id AND (l.[due] IS NULL OR l.[due] <= @now) AND (l.[lease] IS NULL OR l.[lease] <= @now)
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = picked.id
WHERE (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now)
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @base = 0 OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn > @base;
END CATCH;
SET @wanted = @limit - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = 40 AND @wanted > 0 THEN 5000 ELSE 0 END;
SET @base = 1000000;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;

-- claim to a second: now, limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 499999900, DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @window int = 26, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until
OUTPUT @base + picked.turn,
  inserted.[id],
  LOWER(CONVERT(varchar(36), inserted.[id])),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  NULL,
  NULL
INTO @claimed (turn, held, id, token, attempt, [group], [key])
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.[id] AS id
    FROM [jobs] AS l WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.[id] = candidate.id AND (l.[due] IS NULL OR l.[due] <= @now) AND (l.[lease] IS NULL OR l.[lease] <= @now)
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = picked.id
WHERE (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now)
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @base = 0 OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn > @base;
END CATCH;
SET @wanted = @limit - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = 26 AND @wanted > 0 THEN 5000 ELSE 0 END;
SET @base = 1000000;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;

-- claim without a group: now, limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @window int = 26, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until
OUTPUT @base + picked.turn,
  inserted.[id],
  LOWER(CONVERT(varchar(36), inserted.[id])),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  NULL,
  NULL
INTO @claimed (turn, held, id, token, attempt, [group], [key])
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.[id] AS id
    FROM [jobs] AS l WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.[id] = candidate.id AND (l.[due] IS NULL OR l.[due] <= @now) AND (l.[lease] IS NULL OR l.[lease] <= @now)
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = picked.id
WHERE (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now)
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @base = 0 OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn > @base;
END CATCH;
SET @wanted = @limit - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = 26 AND @wanted > 0 THEN 5000 ELSE 0 END;
SET @base = 1000000;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;

-- columns: 
SELECT
  c.name AS name,
  CASE
    WHEN ty.name IN (N'nvarchar', N'nchar') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length / 2) END, N')')
    WHEN ty.name IN (N'varchar', N'char', N'varbinary', N'binary') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length) END, N')')
    WHEN ty.name IN (N'decimal', N'numeric') THEN CONCAT(ty.name, N'(', c.[precision], N', ', c.[scale], N')')
    WHEN ty.name IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(ty.name, N'(', c.[scale], N')')
    ELSE COALESCE(ty.name, TYPE_NAME(c.user_type_id))
  END AS type,
  CASE WHEN c.is_nullable = 1 THEN 1 ELSE 0 END AS nullable,
  CASE
    WHEN c.is_computed = 1 OR c.generated_always_type <> 0 OR ty.name = N'timestamp' THEN N'always'
    WHEN c.is_identity = 1 OR c.default_object_id <> 0 THEN N'byDefault'
    ELSE N'never'
  END AS [generated],
  CASE
    WHEN ty.name IN (N'datetime2', N'datetimeoffset') THEN CONVERT(int, c.[scale])
    WHEN ty.name = N'datetime' THEN 2
    WHEN ty.name IN (N'smalldatetime', N'date') THEN 0
  END AS [precision],
  CASE
    WHEN c.name = N'lease' AND ty.name NOT IN (N'datetime2', N'datetimeoffset') THEN CONCAT(N'is a ', ty.name, N', which does not hold a lease''s end exactly: let it be a datetime2(7)')
  END AS fault
FROM sys.columns AS c
LEFT JOIN sys.types AS ty ON ty.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(N'[jobs]')
ORDER BY c.column_id

-- deadLetter: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [due] = NULL,
    [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- extend: now, leaseMs, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL, token nvarchar(40) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
UPDATE i
SET [lease] = @until
OUTPUT @n, @named, N'extended', CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126) INTO @answer (n, id, outcome, token)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[lease] > @now;
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, N'lost' WHERE NOT EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
INSERT INTO @answer (n, id, outcome) VALUES (@n, @named, N'locked');
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id, a.outcome, a.token
FROM @answer AS a
ORDER BY a.n;

-- extendable: now, leaseMs, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL, held nvarchar(40) NULL, until nvarchar(40) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id, outcome, held, until)
SELECT @n, @named, N'ours', CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126), CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), @until), '+00:00')), 126)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[lease] > @now;
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, N'lost' WHERE NOT EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
INSERT INTO @answer (n, id, outcome) VALUES (@n, @named, N'locked');
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id, a.outcome, a.held, a.until
FROM @answer AS a
ORDER BY a.n;

-- index 1: 
SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(N'[jobs]')
    AND x.type IN (1, 2) AND x.is_disabled = 0
    AND (x.has_filter = 0)
  GROUP BY x.index_id
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'due' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 2 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
  OR (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'due' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal > 0 THEN 1 ELSE 0 END) = 1)
) THEN 1 ELSE 0 END AS present

-- index 2: 
SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(N'[jobs]')
    AND x.type IN (1, 2) AND x.is_disabled = 0 AND x.is_unique = 1
    AND (x.has_filter = 0)
  GROUP BY x.index_id
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
) THEN 1 ELSE 0 END AS present

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
INSERT INTO [jobs] ([id], [due], [lease])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier), CONVERT(datetime2(7), @p2, 126), CONVERT(datetime2(7), @p3, 126)),
  (1, CAST(@p4 AS uniqueidentifier), CONVERT(datetime2(7), @p5, 126), CONVERT(datetime2(7), @p6, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;

-- insert of defaults: r0c0, r1c0
SET NOCOUNT ON;
INSERT INTO [jobs] ([id])
SELECT v.c0
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier)),
  (1, CAST(@p2 AS uniqueidentifier))
) AS v (n, c0)
ORDER BY v.n;

-- insert with a delay: now, r0c0, r0c1, r0c2
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
INSERT INTO [jobs] ([id], [due], [lease])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p2 AS uniqueidentifier), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) / 86400000 AS int), @now)), CONVERT(datetime2(7), @p4, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;

-- insert without ids: r0c0, r1c0
SET NOCOUNT ON;
INSERT INTO [jobs] ([id])
SELECT v.c0
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier)),
  (1, CAST(@p2 AS uniqueidentifier))
) AS v (n, c0)
ORDER BY v.n;

-- lockOrFail: now, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[lease] > @now;
SET @n = @n + 1;
END;
IF (SELECT COUNT(*) FROM @answer) < @count
THROW 51001, N'rows locked: not all, the claim of the others is lost', 1;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- readBack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, CASE
  WHEN i.[id] = @id AND i.[lease] = @token THEN N'ours'
  WHEN i.[lease] IS NOT NULL THEN N'taken'
  ELSE N'other'
END
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id;
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, N'gone' WHERE NOT EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
INSERT INTO @answer (n, id, outcome) VALUES (@n, @named, N'locked');
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id, a.outcome
FROM @answer AS a
ORDER BY a.n;

-- release: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- remove: now, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now);
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- retry: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- retryAfter: now, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [due] = DATEADD(millisecond, CAST((CASE WHEN CAST(@delay AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@delay AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@delay AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@delay AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@delay AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@delay AS bigint) END) / 86400000 AS int), @now)),
    [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- row: id
SET NOCOUNT ON;
DECLARE @id uniqueidentifier = CAST(@p1 AS uniqueidentifier);
SELECT
  LOWER(CONVERT(varchar(36), i.[id])) AS v0,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS v1,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS v2
FROM [jobs] AS i
WHERE i.[id] = @id;

-- rows: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  LOWER(CONVERT(varchar(36), i.[id])) AS id,
  NULL AS [group],
  NULL AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  NULL AS payload,
  NULL AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] > @after)
ORDER BY i.[id];

-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  LOWER(CONVERT(varchar(36), i.[id])) AS id,
  NULL AS [group],
  NULL AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  NULL AS payload,
  NULL AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;

-- status: now, limit
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @limit int = CAST(@p2 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  NULL AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN 1 END)) AS waiting,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL AND i.[due] > @now THEN 1 END)) AS future,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] > @now THEN 1 END)) AS in_work,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] <= @now THEN 1 END)) AS expired,
  NULL AS processed,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END)), '+00:00')), 126) AS oldest_due,
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END), @now)) AS oldest_due_ms
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE 1 = 1;

-- take: now, leaseMs, named
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = @until
OUTPUT @n,
  inserted.[id],
  LOWER(CONVERT(varchar(36), inserted.[id])),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  NULL,
  NULL
INTO @claimed (turn, held, id, token, attempt, [group], [key])
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now);
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;

-- tokens: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, token nvarchar(40) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @answer (n, id, token)
SELECT @n, @named, CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126)
FROM [jobs] AS i
WHERE i.[id] = @id;
SET @n = @n + 1;
END;
SELECT a.id, a.token
FROM @answer AS a
ORDER BY a.n;
