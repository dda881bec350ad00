-- claim: leaseMs, limit, group
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @group nvarchar(4000) = CAST(@p3 AS nvarchar(max));
SET XACT_ABORT OFF;
DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value nvarchar(4000), @found int, @id bigint, @priority bigint;
INSERT INTO @queue (turn, value, named)
SELECT 1, @group, CONVERT(nvarchar(max), @group) WHERE @group IS NOT NULL;
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
