-- claim to a second: leaseMs, limit, after
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(nanosecond, 499999900, DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @after nvarchar(4000) = CAST(@p3 AS nvarchar(max));
SET XACT_ABORT OFF;
DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value nvarchar(4000), @found int, @id bigint, @priority bigint;
DECLARE @head TABLE (n int NOT NULL PRIMARY KEY, value nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL, priority bigint NULL, id bigint NOT NULL);
DECLARE @head_group nvarchar(4000), @head_named nvarchar(4000), @ready int;
DECLARE @next nvarchar(4000), @visited int = 0, @wrapped int = 0;
IF @after IS NULL
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] IS NOT NULL
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @after
ORDER BY g.[grp];
WHILE @visited < 500
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR @after IS NULL BREAK;
SET @wrapped = 1;
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] <= @after
ORDER BY g.[grp];
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
BEGIN TRY
SET @id = NULL;
SELECT TOP (1) @id = h.[id], @head_group = h.[grp], @head_named = CONVERT(nvarchar(max), h.[grp]), @ready = CASE WHEN (h.[due] IS NULL OR h.[due] <= @now) AND (h.[lease] IS NULL OR h.[lease] <= @now) THEN 1 ELSE 0 END, @priority = h.[prio]
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[prio] IS NOT NULL
ORDER BY h.[prio], h.[id];
IF @id IS NULL
SELECT TOP (1) @id = h.[id], @head_group = h.[grp], @head_named = CONVERT(nvarchar(max), h.[grp]), @ready = CASE WHEN (h.[due] IS NULL OR h.[due] <= @now) AND (h.[lease] IS NULL OR h.[lease] <= @now) THEN 1 ELSE 0 END, @priority = h.[prio]
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[prio] IS NULL
ORDER BY h.[prio], h.[id];
IF @id IS NOT NULL AND @ready = 1
INSERT INTO @head (n, value, named, priority, id) VALUES (@visited, @head_group, @head_named, @priority, @id);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
SET @next = NULL;
IF @wrapped = 0
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @value
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @value AND g.[grp] <= @after
ORDER BY g.[grp];
END;
INSERT INTO @queue (turn, value, named)
SELECT ROW_NUMBER() OVER (ORDER BY CASE WHEN head.priority IS NULL THEN 1 ELSE 0 END, head.priority, head.id), head.value, head.named
FROM @head AS head;
SET @found = (SELECT COUNT(*) FROM @queue);
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
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
SELECT TOP (1) @id = h.[id], @priority = h.[prio]
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND (CONVERT(nvarchar(max), h.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @value + N'|' AND h.[prio] IS NOT NULL
ORDER BY h.[prio], h.[id];
IF @id IS NULL
SELECT TOP (1) @id = h.[id], @priority = h.[prio]
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND (CONVERT(nvarchar(max), h.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @value + N'|' AND h.[prio] IS NULL
ORDER BY h.[prio], h.[id];
IF @id IS NOT NULL AND NOT EXISTS (
SELECT 1 FROM [jobs] AS o WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE o.[grp] = @value AND (CONVERT(nvarchar(max), o.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @value + N'|' AND o.[id] <> @id AND o.[lease] > @now
)
BEGIN
UPDATE o
SET [lease] = NULL
FROM [jobs] AS o WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE o.[grp] = @value AND (CONVERT(nvarchar(max), o.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @value + N'|' AND o.[id] <> @id AND o.[lease] IS NOT NULL AND o.[lease] <= @now;
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  CONVERT(nvarchar(max), inserted.[grp]),
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @value + N'|' AND (i.[prio] = @priority OR (i.[prio] IS NULL AND @priority IS NULL)) AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now);
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
