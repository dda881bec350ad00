-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after smallint = CAST(@p2 AS smallint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;
