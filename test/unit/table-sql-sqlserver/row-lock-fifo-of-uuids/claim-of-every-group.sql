-- claim of every group: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SET XACT_ABORT OFF;
DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value uniqueidentifier NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value uniqueidentifier, @found int, @id uniqueidentifier, @priority bigint, @due datetime2(7);
DECLARE @head TABLE (n int NOT NULL PRIMARY KEY, value uniqueidentifier NOT NULL, named nvarchar(4000) NOT NULL, priority bigint NULL, due datetime2(7) NULL, id uniqueidentifier NOT NULL);
DECLARE @head_group uniqueidentifier, @head_named nvarchar(4000), @ready int;
DECLARE @next uniqueidentifier, @visited int = 0, @wrapped int = 0;
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
SELECT TOP (1) @id = h.[id], @head_group = h.[grp], @head_named = LOWER(CONVERT(varchar(36), h.[grp])), @ready = CASE WHEN (h.[due] IS NULL OR h.[due] <= @now) THEN 1 ELSE 0 END, @priority = h.[prio], @due = CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), h.[due]), '+00:00'))
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL AND h.[prio] IS NOT NULL
ORDER BY h.[prio], h.[due], h.[id];
IF @id IS NULL
SELECT TOP (1) @id = h.[id], @head_group = h.[grp], @head_named = LOWER(CONVERT(varchar(36), h.[grp])), @ready = CASE WHEN (h.[due] IS NULL OR h.[due] <= @now) THEN 1 ELSE 0 END, @priority = h.[prio], @due = CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), h.[due]), '+00:00'))
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL AND h.[prio] IS NULL
ORDER BY h.[prio], h.[due], h.[id];
IF @id IS NOT NULL AND @ready = 1
INSERT INTO @head (n, value, named, priority, due, id) VALUES (@visited, @head_group, @head_named, @priority, @due, @id);
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
SELECT ROW_NUMBER() OVER (ORDER BY CASE WHEN head.priority IS NULL THEN 1 ELSE 0 END, head.priority, head.due, head.id), head.value, head.named
FROM @head AS head;
SET @found = (SELECT COUNT(*) FROM @queue);
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
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
SELECT TOP (1) @id = h.[id], @priority = h.[prio], @due = CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), h.[due]), '+00:00'))
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL AND h.[prio] IS NOT NULL
ORDER BY h.[prio], h.[due], h.[id];
IF @id IS NULL
SELECT TOP (1) @id = h.[id], @priority = h.[prio], @due = CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), h.[due]), '+00:00'))
FROM [jobs] AS h WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE h.[grp] = @value AND h.[done] IS NULL AND h.[prio] IS NULL
ORDER BY h.[prio], h.[due], h.[id];
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key])
SELECT @turn,
  i.[id],
  LOWER(CONVERT(varchar(36), i.[id])),
  NULL,
  NULL,
  LOWER(CONVERT(varchar(36), i.[grp])),
  LOWER(CONVERT(varchar(36), i.[grp]))
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[grp] = @value AND (i.[prio] = @priority OR (i.[prio] IS NULL AND @priority IS NULL)) AND (CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')) = @due OR (CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')) IS NULL AND @due IS NULL)) AND i.[done] IS NULL AND (i.[due] IS NULL OR i.[due] <= @now);
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
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;
