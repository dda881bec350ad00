EXEC sys.sp_describe_first_result_set @tsql = N'SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p2 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id bigint NOT NULL, lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @tried TABLE (lock nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, lock nvarchar(255) NULL);
DECLARE @base int = 0, @turn int, @taken int = 0, @granted int, @id bigint, @lock nvarchar(255);
WHILE @taken < @limit
BEGIN
SET @lock = NULL;
SELECT TOP (1) @turn = c.turn, @id = c.id, @lock = c.lock FROM @candidate AS c ORDER BY c.turn;
IF @lock IS NULL
BEGIN
INSERT INTO @candidate (turn, id, lock)
SELECT TOP (200) @base + ROW_NUMBER() OVER (ORDER BY due_row.due, due_row.id), due_row.id, due_row.lock_name
FROM (
SELECT * FROM (
      SELECT TOP (200) i.[due] AS due, i.[id] AS id, CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')), 2) ELSE COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'') END) AS lock_name
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')), 2) ELSE COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'') END)) + N''|'') COLLATE Latin1_General_BIN2 = d.lock + N''|'') AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (200) i.[due] AS due, i.[id] AS id, CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')), 2) ELSE COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'') END) AS lock_name
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')), 2) ELSE COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'') END)) + N''|'') COLLATE Latin1_General_BIN2 = d.lock + N''|'') AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
) AS due_row
ORDER BY due_row.due, due_row.id;
IF @@ROWCOUNT = 0 BREAK;
SET @base = @base + 200;
CONTINUE;
END;
DELETE FROM @candidate WHERE lock + N''|'' = @lock + N''|'';
INSERT INTO @tried (lock) VALUES (@lock);
SET @granted = 0;
IF @granted >= 0
BEGIN
UPDATE i
SET [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  NULL,
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), inserted.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), inserted.[grp]) COLLATE Latin1_General_BIN2, N'''')), @lock
INTO @claimed (turn, held, id, token, attempt, [group], [key], lock)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N''|'') COLLATE Latin1_General_BIN2 = @group + N''|'' AND (i.[due] IS NULL OR i.[due] <= @now) AND (CONVERT(nvarchar(max), CONVERT(nvarchar(255), CASE WHEN DATALENGTH(COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')) > 510 THEN CONVERT(nvarchar(255), HASHBYTES(''SHA2_256'', COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'')), 2) ELSE COALESCE(NULLIF(CONCAT(N''job-'', COALESCE(CONVERT(varchar(20), i.[id]), N''''), N''/'', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'''')), N''''), N''(no key)'') END)) + N''|'') COLLATE Latin1_General_BIN2 = @lock + N''|'';
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
SET NOCOUNT ON;
END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.lock
FROM @claimed AS t
ORDER BY t.turn;', @params = N'@p1 nvarchar(max), @p2 nvarchar(max)';
