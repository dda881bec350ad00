-- rows, last first: limit, from, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from int = CAST(@p2 AS int);
DECLARE @after nvarchar(4000) = CAST(@p3 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[id]) AS id,
  CONVERT(varchar(20), i.[grp]) AS [group],
  NULL AS attempt,
  NULL AS due,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[done] IS NULL AND (@from IS NULL OR (i.[grp] = @from)) AND (@after IS NULL OR i.[id] < @after)
ORDER BY i.[id] DESC;
