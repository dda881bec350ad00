-- purge: olderThanMs, limit, after
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @old datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(-CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(-CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(-CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(-CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @limit int = CAST(@p2 AS int);
DECLARE @after uniqueidentifier = CAST(@p3 AS uniqueidentifier);
DECLARE @gone TABLE (id uniqueidentifier NOT NULL);
DELETE i
OUTPUT deleted.[id] INTO @gone (id)
FROM (
  SELECT TOP (@limit) o.[id] AS id
  FROM [jobs] AS o WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
  WHERE o.[done] <= @old AND (@after IS NULL OR o.[id] > @after)
  ORDER BY o.[id]
) AS found
INNER JOIN [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = found.id
WHERE i.[done] <= @old
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), d.id)) AS id
FROM @gone AS d
ORDER BY d.id;
