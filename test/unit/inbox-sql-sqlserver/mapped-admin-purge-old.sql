-- source, olderThanMs
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @src nvarchar(4000) = @p1;
DECLARE @old datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(-CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(-CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @changed TABLE (id uniqueidentifier NOT NULL);
DELETE i
OUTPUT deleted.[id$1] INTO @changed (id)
FROM (
  SELECT TOP (1000) d.[id$1] AS id
  FROM [Messaging].[letters] AS d WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
  WHERE d.[consumption$1] = 'pull' AND d.[state$1] = N'dead' AND (@src IS NULL OR d.[source$1] = @src) AND COALESCE(d.[claimedAt$1], d.[createdAt$1]) <= @old
  ORDER BY d.[createdAt$1], d.[id$1]
) AS found
INNER JOIN [Messaging].[letters] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id$1] = found.id
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'dead'
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), c.id)) AS [id]
FROM @changed AS c;
