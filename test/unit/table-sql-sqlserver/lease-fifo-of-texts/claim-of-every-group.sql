-- claim of every group: leaseMs, limit, after
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @after int = CAST(@p3 AS int);
SET XACT_ABORT OFF;
DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value int NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value int, @found int, @id nvarchar(4000);
DECLARE @head TABLE (n int NOT NULL PRIMARY KEY, value int NOT NULL, named nvarchar(4000) NOT NULL, id nvarchar(4000) NOT NULL);
DECLARE @head_group int, @head_named nvarchar(4000), @ready int;
DECLARE @next int, @visited int = 0, @wrapped int = 0;
IF @after IS NULL
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] IS NOT NULL
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @after
ORDER BY g.[grp];
WHILE @visited < 500
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR @after IS NULL BREAK;
SET @wrapped = 1;
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] <= @after
ORDER BY g.[grp];
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
BEGIN TRY
SET @id = NULL;
SELECT TOP (1) @id = h.[id], @head_group = h.[grp], @head_named = CONVERT(varchar(20), h.[grp]), @ready = CASE WHEN (h.[lease] IS NULL OR h.[lease] <= @now) THEN 1 ELSE 0 END
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL
ORDER BY h.[id];
IF @id IS NOT NULL AND @ready = 1
INSERT INTO @head (n, value, named, id) VALUES (@visited, @head_group, @head_named, @id);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
SET @next = NULL;
IF @wrapped = 0
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @value
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @value AND g.[grp] <= @after
ORDER BY g.[grp];
END;
INSERT INTO @queue (turn, value, named)
SELECT ROW_NUMBER() OVER (ORDER BY head.id), head.value, head.named
FROM @head AS head;
SET @found = (SELECT COUNT(*) FROM @queue);
DECLARE @claimed TABLE (turn int NOT NULL, held nvarchar(4000) NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @turn int = 1, @taken int = 0, @granted int, @lock nvarchar(255), @named nvarchar(4000);
WHILE @turn <= @found AND @taken < @limit
BEGIN
SELECT @value = q.value, @named = q.named FROM @queue AS q WHERE q.turn = @turn;
SET @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray jobs/' + N'group ' + @named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray jobs/' + N'group ' + @named), 2) ELSE N'intray jobs/' + N'group ' + @named END);
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
BEGIN TRY
SET @id = NULL;
SELECT TOP (1) @id = h.[id]
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL
ORDER BY h.[id];
IF @id IS NOT NULL AND NOT EXISTS (
SELECT 1 FROM [jobs] AS o WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE o.[grp] = @value AND o.[done] IS NULL AND o.[id] <> @id AND o.[lease] > @now
)
BEGIN
UPDATE o
SET [lease] = NULL
FROM [jobs] AS o WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE o.[grp] = @value AND o.[done] IS NULL AND o.[id] <> @id AND o.[lease] IS NOT NULL AND o.[lease] <= @now;
UPDATE i
SET [lease] = @until
OUTPUT @turn,
  inserted.[id],
  CONVERT(nvarchar(max), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  CONVERT(varchar(20), inserted.[grp]),
  CONVERT(varchar(20), inserted.[grp]),
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[grp] = @value AND i.[done] IS NULL AND (i.[lease] IS NULL OR i.[lease] <= @now);
END;
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
SET @turn = @turn + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
