-- rows: limit, from, after
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @after bigint = CAST(@p3 AS bigint);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[id]) AS id,
  CONVERT(nvarchar(max), i.[grp]) AS [group],
  CONVERT(varchar(20), i.[att]) AS attempt,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS due,
  NULL AS leased_until,
  NULL AS reason,
  SUBSTRING(CONVERT(nvarchar(max), i.[pay]), 1, 400) AS payload,
  CONVERT(varchar(20), LEN(CONVERT(nvarchar(max), i.[pay]) + N'|') - 1) AS payload_length
FROM [app].[jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND (@after IS NULL OR i.[id] > @after)
ORDER BY i.[id];
