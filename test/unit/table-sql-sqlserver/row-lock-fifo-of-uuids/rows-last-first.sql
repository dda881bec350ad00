-- rows, last first: limit, from, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @after uniqueidentifier = CAST(@p3 AS uniqueidentifier);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  LOWER(CONVERT(varchar(36), i.[id])) AS id,
  LOWER(CONVERT(varchar(36), i.[grp])) AS [group],
  NULL AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  NULL AS leased_until,
  NULL AS reason,
  NULL AS payload,
  NULL AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[done] IS NULL AND (@from IS NULL OR (i.[grp] = @from)) AND (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;
