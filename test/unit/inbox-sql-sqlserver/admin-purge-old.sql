-- source, olderThanMs
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @src nvarchar(4000) = @p1;
DECLARE @old datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(-CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(-CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @changed TABLE (id uniqueidentifier NOT NULL);
DELETE i
OUTPUT deleted.[id] INTO @changed (id)
FROM (
  SELECT TOP (1000) d.[id] AS id
  FROM [inbox] AS d WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
  WHERE d.[consumption] = 'pull' AND d.[state] = N'dead' AND (@src IS NULL OR d.[source] = @src) AND COALESCE(d.[claimed_at], d.[created_at]) <= @old
  ORDER BY d.[created_at], d.[id]
) AS found
INNER JOIN [inbox] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = found.id
WHERE i.[consumption] = 'pull' AND i.[state] = N'dead'
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), c.id)) AS [id]
FROM @changed AS c;
