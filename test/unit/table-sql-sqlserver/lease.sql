-- ack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
SET @n = @n + 1;
END;
IF (SELECT COUNT(*) FROM @answer) < @count
THROW 51001, N'rows acknowledged: not all, the claim of the others is lost', 1;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- claim: group, limit, leaseMs
SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS bigint) AS bigint) END) / 86400000 AS int), @now));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @window int = 40, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @base + picked.turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NOT NULL AND (i.[due] IS NULL OR i.[due] <= @now)
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] IS NULL
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_2
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] <= @now
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_3
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.[id] AS id
    FROM [jobs] AS l WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.[id] = candidate.id AND (CONVERT(nvarchar(max), l.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (l.[due] IS NULL OR l.[due] <= @now) AND (l.[lease] IS NULL OR l.[lease] <= @now)
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = picked.id
WHERE (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now)
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
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;

-- claim to a second: limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 499999900, DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @window int = 26, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @base + picked.turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NOT NULL AND (i.[due] IS NULL OR i.[due] <= @now)
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] IS NULL
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_2
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] <= @now
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_3
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
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;

-- claim without a group: limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @window int = 26, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @base + picked.turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NOT NULL AND (i.[due] IS NULL OR i.[due] <= @now)
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] IS NULL
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_2
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] <= @now
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_3
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
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
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
    WHEN c.name IN (N'grp') AND ty.name IN (N'varchar', N'char') AND c.collation_name LIKE N'SQL[_]%' THEN CONCAT(N'is a ', ty.name, N' of the collation ', c.collation_name, N', in which no index finds Unicode text: let it be an nvarchar')
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
INSERT INTO [graves] ([pay], [tries], [reason])
SELECT i.[pay], 1, @reason
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
IF EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n) AND NOT EXISTS (SELECT 1 FROM @gone AS g WHERE g.n = @n)
THROW 51000, N'intray: a row changed while it was moved', 1;
END TRY
BEGIN CATCH
THROW;
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- extend: leaseMs, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL, token nvarchar(40) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
UPDATE i
SET [lease] = @until
OUTPUT @n, @named, N'extended', CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126) INTO @answer (n, id, outcome, token)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt AND i.[lease] > @now;
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

-- extendable: leaseMs, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL, held nvarchar(40) NULL, until nvarchar(40) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id, outcome, held, until)
SELECT @n, @named, N'ours', CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126), CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), @until), '+00:00')), 126)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt AND i.[lease] > @now;
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
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'grp' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 2 AND c.name = N'prio' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 3 AND c.name = N'due' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 4 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
  OR (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'grp' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 2 AND c.name = N'prio' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 3 AND c.name = N'due' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal > 0 THEN 1 ELSE 0 END) = 3)
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
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] ON;
BEGIN TRY
INSERT INTO [jobs] ([id], [grp], [due])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS bigint), CAST(@p2 AS nvarchar(max)), CONVERT(datetime2(7), @p3, 126)),
  (1, CAST(@p4 AS bigint), CAST(@p5 AS nvarchar(max)), CONVERT(datetime2(7), @p6, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;

-- insert of defaults: 
DECLARE @made TABLE (id bigint NOT NULL);
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;

-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5, r0c6
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] ON;
BEGIN TRY
INSERT INTO [jobs] ([id], [grp], [due], [att], [pay], [lease], [prio])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5, v.c6
FROM (VALUES
  (0, CAST(@p1 AS bigint), CAST(@p2 AS nvarchar(max)), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) / 86400000 AS int), @now)), CAST(@p4 AS smallint), CAST(@p5 AS nvarchar(max)), CONVERT(datetime2(7), @p6, 126), CAST(@p7 AS int))
) AS v (n, c0, c1, c2, c3, c4, c5, c6)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;

-- insert without ids: r0c0, r1c0
SET NOCOUNT ON;
DECLARE @made TABLE (id bigint NOT NULL);
INSERT INTO [jobs] ([pay])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max))),
  (1, CAST(@p2 AS nvarchar(max)))
) AS v (n, c0)
ORDER BY v.n;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;

-- lockOrFail: given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt AND i.[lease] > @now;
SET @n = @n + 1;
END;
IF (SELECT COUNT(*) FROM @answer) < @count
THROW 51001, N'rows locked: not all, the claim of the others is lost', 1;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- move to a group: group, from, given
SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [grp] = @group,
    [att] = 1,
    [due] = NULL,
    [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- move to a table: from, group, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @from nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @group nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
INSERT INTO [jobs] ([pay], [grp], [att])
SELECT i.[pay], @group, 1
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
IF EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n) AND NOT EXISTS (SELECT 1 FROM @gone AS g WHERE g.n = @n)
THROW 51000, N'intray: a row changed while it was moved', 1;
END TRY
BEGIN CATCH
THROW;
END CATCH;
SET @n = @n + 1;
END;
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, CASE
  WHEN i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt THEN N'ours'
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = NULL,
    [att] = CASE WHEN i.[att] - 1 < 1 THEN 1 ELSE i.[att] - 1 END
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- remove: from, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @from nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- retryAfter: given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [due] = DATEADD(millisecond, CAST((CASE WHEN CAST(@delay AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@delay AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@delay AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@delay AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@delay AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@delay AS bigint) END) / 86400000 AS int), @now)),
    [lease] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[lease] = @token AND i.[att] = @attempt;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- row: id, from
SET NOCOUNT ON;
DECLARE @id bigint = CAST(@p1 AS bigint);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SELECT
  CONVERT(varchar(20), i.[id]) AS v0,
  CONVERT(nvarchar(max), i.[grp]) AS v1,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS v2,
  CONVERT(varchar(20), i.[att]) AS v3,
  CONVERT(nvarchar(max), i.[pay]) AS v4,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS v5,
  CONVERT(varchar(20), i.[prio]) AS v6
FROM [jobs] AS i
WHERE i.[id] = @id AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));

-- rows: limit, from, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @after bigint = CAST(@p3 AS bigint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  CONVERT(nvarchar(max), i.[grp]) AS [group],
  CONVERT(varchar(20), i.[att]) AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND (@after IS NULL OR i.[id] > @after)
ORDER BY i.[id];

-- rows, last first: limit, from, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @after bigint = CAST(@p3 AS bigint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  CONVERT(nvarchar(max), i.[grp]) AS [group],
  CONVERT(varchar(20), i.[att]) AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;

-- status: limit, from
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[grp]) AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN 1 END)) AS waiting,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL AND i.[due] > @now THEN 1 END)) AS future,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] > @now THEN 1 END)) AS in_work,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] <= @now THEN 1 END)) AS expired,
  NULL AS processed,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END)), '+00:00')), 126) AS oldest_due,
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END), @now)) AS oldest_due_ms
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'))
GROUP BY i.[grp]
ORDER BY i.[grp];

-- take: leaseMs, group, named
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @group nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @n,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now);
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
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
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
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
