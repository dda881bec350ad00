-- rows, last first: limit, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @after nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[id]) AS id,
  NULL AS [group],
  NULL AS attempt,
  NULL AS due,
  NULL AS leased_until,
  NULL AS reason,
  LOWER(CONVERT(varchar(max), SUBSTRING(CONVERT(varbinary(max), i.[pay]), 1, 400), 2)) AS payload,
  CONVERT(varchar(20), DATALENGTH(CONVERT(varbinary(max), i.[pay]))) AS payload_length
FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;
