-- source, after, limit
SET NOCOUNT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @limit int = CAST(@p3 AS int);
DECLARE @created datetime2(7);
SELECT @created = a.[created_at] FROM [inbox] AS a WHERE a.[id] = @after;
SELECT TOP (@limit) LOWER(CONVERT(varchar(36), i.[id])) AS [id], i.[source] AS [source],
  i.[idempotency_key] AS [idempotency_key], i.[aggregate_id] AS [aggregate_id],
  i.[event_type] AS [event_type], i.[attempt] AS [attempt],
  CONVERT(varchar(33), i.[created_at], 126) + 'Z' AS [created_at], CONVERT(varchar(33), i.[claimed_at], 126) + 'Z' AS [claimed_at],
  i.[last_error] AS [last_error]
FROM [inbox] AS i
WHERE i.[consumption] = 'pull' AND i.[state] = N'dead'
  AND (@src IS NULL OR i.[source] = @src)
  AND (@after IS NULL OR i.[created_at] < @created OR (i.[created_at] = @created AND i.[id] < @after))
ORDER BY i.[created_at] DESC, i.[id] DESC;
