-- ack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- candidates: limit, keys
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @tried TABLE (name nvarchar(max) NULL);
INSERT INTO @tried (name)
SELECT k.[name] FROM OPENJSON(@p2) WITH ([name] nvarchar(max) '$[0]') AS k;
SELECT TOP (@limit) ranked.named AS id, ranked.lock_key AS [key]
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY (ahead.lock_key + N'|') COLLATE Latin1_General_BIN2 ORDER BY ahead.id
  ) AS turn
  FROM (
    SELECT TOP (30) each_row.*
    FROM (
      SELECT TOP (30) i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named, COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'') AS lock_key
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'')) + N'|') COLLATE Latin1_General_BIN2 = d.name + N'|')
      ORDER BY i.[id]
    ) AS each_row
    ORDER BY each_row.id
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ranked.id;

-- claim: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id smallint NOT NULL, lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held smallint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL, lock nvarchar(255) NULL);
DECLARE @turn int, @taken int = 0, @granted int, @id smallint, @lock nvarchar(255);
INSERT INTO @candidate (turn, id, lock)
SELECT TOP (200) ROW_NUMBER() OVER (ORDER BY due_row.id), due_row.id, due_row.lock_name
FROM (
      SELECT TOP (200) i.[id] AS id, CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END) AS lock_name
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END), N'Exclusive', N'Session') = 1
      ORDER BY i.[id]
) AS due_row
ORDER BY due_row.id;
WHILE @taken < @limit
BEGIN
SET @lock = NULL;
SELECT TOP (1) @turn = c.turn, @id = c.id, @lock = c.lock FROM @candidate AS c ORDER BY c.turn;
IF @lock IS NULL BREAK;
DELETE FROM @candidate WHERE lock = @lock;
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0, lock)
SELECT @turn,
  i.[id],
  CONVERT(varchar(20), i.[id]),
  NULL,
  NULL,
  NULL,
  COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''),
  CONVERT(nvarchar(max), i.[pay]), @lock
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END)) + N'|') COLLATE Latin1_General_BIN2 = @lock + N'|';
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Session';
END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0, t.lock
FROM @claimed AS t
ORDER BY t.turn;

-- claim without a group: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id smallint NOT NULL, lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held smallint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 varbinary(max) NULL, c1 nvarchar(max) NULL, lock nvarchar(255) NULL);
DECLARE @turn int, @taken int = 0, @granted int, @id smallint, @lock nvarchar(255);
INSERT INTO @candidate (turn, id, lock)
SELECT TOP (200) ROW_NUMBER() OVER (ORDER BY due_row.id), due_row.id, due_row.lock_name
FROM (
      SELECT TOP (200) i.[id] AS id, CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END) AS lock_name
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END), N'Exclusive', N'Session') = 1
      ORDER BY i.[id]
) AS due_row
ORDER BY due_row.id;
WHILE @taken < @limit
BEGIN
SET @lock = NULL;
SELECT TOP (1) @turn = c.turn, @id = c.id, @lock = c.lock FROM @candidate AS c ORDER BY c.turn;
IF @lock IS NULL BREAK;
DELETE FROM @candidate WHERE lock = @lock;
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0, c1, lock)
SELECT @turn,
  i.[id],
  CONVERT(varchar(20), i.[id]),
  NULL,
  NULL,
  NULL,
  COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''),
  CONVERT(varbinary(max), i.[key]),
  CONVERT(nvarchar(max), i.[pay]), @lock
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END)) + N'|') COLLATE Latin1_General_BIN2 = @lock + N'|';
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Session';
END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0, t.c1, t.lock
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
  CAST(NULL AS nvarchar(400)) AS fault
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
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
INSERT INTO [graves] ([pay], [tries], [reason])
SELECT i.[pay], 1, @reason
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
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
INSERT INTO [jobs] ([id], [key], [pay])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS smallint), CONVERT(varbinary(max), @p2), CAST(@p3 AS nvarchar(max))),
  (1, CAST(@p4 AS smallint), CONVERT(varbinary(max), @p5), CAST(@p6 AS nvarchar(max)))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;

-- insert of defaults: 
DECLARE @made TABLE (id smallint NOT NULL);
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;

-- insert with a delay: r0c0, r0c1, r0c2
SET NOCOUNT ON;
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] ON;
BEGIN TRY
INSERT INTO [jobs] ([id], [key], [pay])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS smallint), CONVERT(varbinary(max), @p2), CAST(@p3 AS nvarchar(max)))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF OBJECTPROPERTY(OBJECT_ID(N'[jobs]'), 'TableHasIdentity') = 1 SET IDENTITY_INSERT [jobs] OFF;

-- insert without ids: r0c0, r0c1, r1c0, r1c1
SET NOCOUNT ON;
DECLARE @made TABLE (id smallint NOT NULL);
INSERT INTO [jobs] ([key], [pay])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0, v.c1
FROM (VALUES
  (0, CONVERT(varbinary(max), @p1), CAST(@p2 AS nvarchar(max))),
  (1, CONVERT(varbinary(max), @p3), CAST(@p4 AS nvarchar(max)))
) AS v (n, c0, c1)
ORDER BY v.n;
SELECT CONVERT(varchar(20), m.id) AS id
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
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END), N'Exclusive', N'Session') = 1;
INSERT INTO [jobs] ([pay])
SELECT i.[pay]
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DECLARE @gone TABLE (n int NOT NULL);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
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

-- release: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @answer (n, id) VALUES (@n, @named);
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
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND APPLOCK_TEST(N'public', CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)')), 2) ELSE COALESCE(NULLIF(COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''), N''), N'(no key)') END), N'Exclusive', N'Session') = 1;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;

-- row: id
SET NOCOUNT ON;
DECLARE @id smallint = CAST(@p1 AS smallint);
SELECT
  CONVERT(varchar(20), i.[id]) AS v0,
  LOWER(CONVERT(varchar(max), CONVERT(varbinary(max), i.[key]), 2)) AS v1,
  CONVERT(nvarchar(max), i.[pay]) AS v2
FROM [jobs] AS i
WHERE i.[id] = @id;

-- rows: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after smallint = CAST(@p2 AS smallint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] > @after)
ORDER BY i.[id];

-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after smallint = CAST(@p2 AS smallint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
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
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE 1 = 1;

-- take: key, named
SET NOCOUNT ON;
DECLARE @key nvarchar(max) = @p1;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held smallint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
SELECT @n,
  i.[id],
  CONVERT(varchar(20), i.[id]),
  NULL,
  NULL,
  NULL,
  COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''),
  CONVERT(nvarchar(max), i.[pay])
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'')) + N'|') COLLATE Latin1_General_BIN2 = @key + N'|';
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;

-- unlock: lock
SET NOCOUNT ON;
DECLARE @lock nvarchar(255) = @p1, @released int = 0;
IF APPLOCK_MODE(N'public', @lock, N'Session') = N'Exclusive'
BEGIN
EXEC @released = sp_releaseapplock @Resource = @lock, @LockOwner = N'Session';
SET @released = CASE WHEN @released = 0 THEN 1 ELSE 0 END;
END;
SELECT @released AS released;
