-- ack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [odd ]]name] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- claim: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held nvarchar(4000) NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 varbinary(max) NULL);
DECLARE @window int = 40, @found int, @turn int, @taken int = 0, @granted int;
DECLARE @id nvarchar(4000), @lock nvarchar(255);
WHILE @window > 0 AND @taken < @limit
BEGIN
DELETE FROM @candidate;
INSERT INTO @candidate (turn, id, named)
SELECT TOP (@window) ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id), due_row.id, due_row.named
FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NOT NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_2
) AS due_row
ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id;
SET @found = (SELECT COUNT(*) FROM @candidate);
SET @turn = 1;
WHILE @turn <= @found AND @taken < @limit
BEGIN
SELECT @id = c.id, @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + c.named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + c.named), 2) ELSE N'intray odd ]name/' + N'row ' + c.named END)
FROM @candidate AS c
WHERE c.turn = @turn;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)
BEGIN
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
SELECT @taken + 1,
  i.[id],
  CONVERT(nvarchar(max), i.[id]),
  NULL,
  NULL,
  NULL,
  CONVERT(varchar(41), i.[part]),
  CONVERT(varbinary(max), i.[pay])
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @taken + 1)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
END;
SET @turn = @turn + 1;
END;
SET @window = CASE WHEN @window = 40 AND @found = 40 THEN 5000 ELSE 0 END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;

-- claim without a group: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held nvarchar(4000) NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 varbinary(max) NULL, c1 nvarchar(max) NULL, c2 nvarchar(max) NULL, c3 nvarchar(max) NULL, c4 nvarchar(max) NULL, c5 nvarchar(max) NULL);
DECLARE @window int = 26, @found int, @turn int, @taken int = 0, @granted int;
DECLARE @id nvarchar(4000), @lock nvarchar(255);
WHILE @window > 0 AND @taken < @limit
BEGIN
DELETE FROM @candidate;
INSERT INTO @candidate (turn, id, named)
SELECT TOP (@window) ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id), due_row.id, due_row.named
FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NOT NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_2
) AS due_row
ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id;
SET @found = (SELECT COUNT(*) FROM @candidate);
SET @turn = 1;
WHILE @turn <= @found AND @taken < @limit
BEGIN
SELECT @id = c.id, @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + c.named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + c.named), 2) ELSE N'intray odd ]name/' + N'row ' + c.named END)
FROM @candidate AS c
WHERE c.turn = @turn;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)
BEGIN
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0, c1, c2, c3, c4, c5)
SELECT @taken + 1,
  i.[id],
  CONVERT(nvarchar(max), i.[id]),
  NULL,
  NULL,
  NULL,
  CONVERT(varchar(41), i.[part]),
  CONVERT(varbinary(max), i.[pay]),
  CONVERT(varchar(20), i.[on]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[at]), '+00:00')), 126),
  CONVERT(varchar(41), i.[price]),
  LOWER(CONVERT(varchar(36), i.[ref])),
  CONVERT(nvarchar(max), i.[place])
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @taken + 1)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
END;
SET @turn = @turn + 1;
END;
SET @window = CASE WHEN @window = 26 AND @found = 26 THEN 5000 ELSE 0 END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0, t.c1, t.c2, t.c3, t.c4, t.c5
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
    WHEN c.name IN (N'id') AND ty.name IN (N'varchar', N'char') AND c.collation_name LIKE N'SQL[_]%' THEN CONCAT(N'is a ', ty.name, N' of the collation ', c.collation_name, N', in which no index finds Unicode text: let it be an nvarchar')
  END AS fault
FROM sys.columns AS c
LEFT JOIN sys.types AS ty ON ty.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(N'[odd ]]name]')
ORDER BY c.column_id

-- deadLetter: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [odd ]]name] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
INSERT INTO [graves] ([pay], [tries], [reason])
SELECT i.[pay], 1, @reason
FROM [odd ]]name] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [odd ]]name] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
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

-- index 1: 
SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(N'[odd ]]name]')
    AND x.type IN (1, 2) AND x.is_disabled = 0
    AND (x.has_filter = 0)
  GROUP BY x.index_id
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'prio' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal = 2 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
  OR (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'prio' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1 AND SUM(CASE WHEN k.key_ordinal > 0 THEN 1 ELSE 0 END) = 1)
) THEN 1 ELSE 0 END AS present

-- index 2: 
SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(N'[odd ]]name]')
    AND x.type IN (1, 2) AND x.is_disabled = 0 AND x.is_unique = 1
    AND (x.has_filter = 0)
  GROUP BY x.index_id
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
) THEN 1 ELSE 0 END AS present

-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
INSERT INTO [odd ]]name] ([id], [prio], [part])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS bigint), CAST(@p3 AS nvarchar(4000))),
  (1, CAST(@p4 AS nvarchar(max)), CAST(@p5 AS bigint), CAST(@p6 AS nvarchar(4000)))
) AS v (n, c0, c1, c2)
ORDER BY v.n;

-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5, r0c6, r0c7, r0c8
SET NOCOUNT ON;
INSERT INTO [odd ]]name] ([id], [prio], [part], [pay], [on], [at], [price], [ref], [place])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5, v.c6, v.c7, v.c8
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS bigint), CAST(@p3 AS nvarchar(4000)), CONVERT(varbinary(max), @p4), CAST(@p5 AS bit), CONVERT(datetime2(7), @p6, 126), CAST(@p7 AS nvarchar(4000)), CAST(@p8 AS uniqueidentifier), @p9)
) AS v (n, c0, c1, c2, c3, c4, c5, c6, c7, c8)
ORDER BY v.n;

-- insert without ids: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5
SET NOCOUNT ON;
DECLARE @made TABLE (id nvarchar(4000) NOT NULL);
INSERT INTO [odd ]]name] ([pay], [on], [at], [price], [ref], [place])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5
FROM (VALUES
  (0, CONVERT(varbinary(max), @p1), CAST(@p2 AS bit), CONVERT(datetime2(7), @p3, 126), CAST(@p4 AS nvarchar(4000)), CAST(@p5 AS uniqueidentifier), @p6)
) AS v (n, c0, c1, c2, c3, c4, c5)
ORDER BY v.n;
SELECT CONVERT(nvarchar(max), m.id) AS id
FROM @made AS m
ORDER BY m.id;

-- move to a table: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id])) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id])), 2) ELSE N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id]) END), N'Exclusive', N'Session') = 1;
INSERT INTO [odd ]]name] ([pay])
SELECT i.[pay]
FROM [odd ]]name] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [odd ]]name] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
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

-- remove: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id])) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id])), 2) ELSE N'intray odd ]name/' + N'row ' + CONVERT(nvarchar(max), i.[id]) END), N'Exclusive', N'Session') = 1;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- row: id
SET NOCOUNT ON;
DECLARE @id nvarchar(4000) = CAST(@p1 AS nvarchar(max));
SELECT
  CONVERT(nvarchar(max), i.[id]) AS v0,
  CONVERT(varchar(20), i.[prio]) AS v1,
  CONVERT(varchar(41), i.[part]) AS v2,
  LOWER(CONVERT(varchar(max), CONVERT(varbinary(max), i.[pay]), 2)) AS v3,
  CONVERT(varchar(20), i.[on]) AS v4,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[at]), '+00:00')), 126) AS v5,
  CONVERT(varchar(41), i.[price]) AS v6,
  LOWER(CONVERT(varchar(36), i.[ref])) AS v7,
  CONVERT(nvarchar(max), i.[place]) AS v8
FROM [odd ]]name] AS i
WHERE i.[id] = @id;

-- rows: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  LOWER(CONVERT(varchar(max), SUBSTRING(CONVERT(varbinary(max), i.[pay]), 1, 400), 2)) AS payload,
  CONVERT(varchar(20), DATALENGTH(CONVERT(varbinary(max), i.[pay]))) AS payload_length
FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] > @after)
ORDER BY i.[id];

-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  LOWER(CONVERT(varchar(max), SUBSTRING(CONVERT(varbinary(max), i.[pay]), 1, 400), 2)) AS payload,
  CONVERT(varchar(20), DATALENGTH(CONVERT(varbinary(max), i.[pay]))) AS payload_length
FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;

-- status: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  NULL AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN 1 = 1 THEN 1 END)) AS waiting,
  NULL AS future,
  NULL AS in_work,
  NULL AS expired,
  NULL AS processed,
  NULL AS oldest_due,
  NULL AS oldest_due_ms
FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE 1 = 1;

-- take: named
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held nvarchar(4000) NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 varbinary(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
SET @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + @named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + @named), 2) ELSE N'intray odd ]name/' + N'row ' + @named END);
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
SELECT @n,
  i.[id],
  CONVERT(nvarchar(max), i.[id]),
  NULL,
  NULL,
  NULL,
  CONVERT(varchar(41), i.[part]),
  CONVERT(varbinary(max), i.[pay])
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @n)
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
