-- candidates: group, limit, keys
SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @tried TABLE (name nvarchar(max) NULL);
INSERT INTO @tried (name)
SELECT k.[name] FROM OPENJSON(@p3) WITH ([name] nvarchar(max) '$[0]') AS k;
SELECT TOP (@limit) ranked.named AS id, ranked.lock_key AS [key]
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY (ahead.lock_key + N'|') COLLATE Latin1_General_BIN2 ORDER BY ahead.due, ahead.id
  ) AS turn
  FROM (
    SELECT TOP (30) each_row.*
    FROM (
SELECT * FROM (
      SELECT TOP (30) i.[due] AS due, i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named, CONCAT(N'job-', COALESCE(CONVERT(varchar(20), i.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'')) AS lock_key
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), CONCAT(N'job-', COALESCE(CONVERT(varchar(20), i.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N''))) + N'|') COLLATE Latin1_General_BIN2 = d.name + N'|') AND i.[due] IS NULL
      ORDER BY i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (30) i.[due] AS due, i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named, CONCAT(N'job-', COALESCE(CONVERT(varchar(20), i.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N'')) AS lock_key
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[grp] = @group AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), CONCAT(N'job-', COALESCE(CONVERT(varchar(20), i.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N''))) + N'|') COLLATE Latin1_General_BIN2 = d.name + N'|') AND i.[due] <= @now
      ORDER BY i.[due], i.[id]
      ) AS range_2
    ) AS each_row
    ORDER BY each_row.due, each_row.id
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ranked.due, ranked.id;
