EXEC sys.sp_describe_first_result_set @tsql = N'SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id bigint NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @window int = 40, @found int, @turn int, @taken int = 0, @granted int;
DECLARE @id bigint, @lock nvarchar(255);
WHILE @window > 0 AND @taken < @limit
BEGIN
DELETE FROM @candidate;
INSERT INTO @candidate (turn, id, named)
SELECT TOP (@window) ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id), due_row.id, due_row.named
FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named
      FROM [app].[jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND i.[done] IS NULL AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[due] AS due, i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named
      FROM [app].[jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND i.[done] IS NULL AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
) AS due_row
ORDER BY due_row.due, due_row.id;
SET @found = (SELECT COUNT(*) FROM @candidate);
SET @turn = 1;
WHILE @turn <= @found AND @taken < @limit
BEGIN
SELECT @id = c.id, @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N''intray app.jobs/'' + N''row '' + c.named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', N''intray app.jobs/'' + N''row '' + c.named), 2) ELSE N''intray app.jobs/'' + N''row '' + c.named END)
FROM @candidate AS c
WHERE c.turn = @turn;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)
BEGIN
SET @granted = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key])
SELECT @taken + 1,
  i.[id],
  CONVERT(varchar(20), i.[id]),
  NULL,
  CONVERT(varchar(20), i.[att]),
  CONVERT(nvarchar(max), i.[grp]),
  NULL
FROM [app].[jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND i.[done] IS NULL AND (i.[due] IS NULL OR i.[due] <= @now);
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @taken + 1)
SET @taken = @taken + 1;
ELSE
SET NOCOUNT ON;
END;
END;
SET @turn = @turn + 1;
END;
SET @window = CASE WHEN @window = 40 AND @found = 40 THEN 5000 ELSE 0 END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;', @params = N'@p1 nvarchar(max), @p2 nvarchar(max)';
