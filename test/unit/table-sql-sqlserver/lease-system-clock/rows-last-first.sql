-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  LOWER(CONVERT(varchar(36), i.[id])) AS id,
  NULL AS [group],
  NULL AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  NULL AS payload,
  NULL AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;
