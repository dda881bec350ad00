-- claim: limit, group
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @group uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SET XACT_ABORT OFF;
DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value uniqueidentifier NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value uniqueidentifier, @found int, @id uniqueidentifier, @priority bigint, @due datetime2(7);
INSERT INTO @queue (turn, value, named)
SELECT 1, @group, LOWER(CONVERT(varchar(36), @group)) WHERE @group IS NOT NULL;
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
