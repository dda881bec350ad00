-- source, after, limit
SET NOCOUNT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @limit int = CAST(@p3 AS int);
DECLARE @created datetime2(7);
SELECT @created = a.[createdAt$1] FROM [Messaging].[letters] AS a WHERE a.[id$1] = @after;
SELECT TOP (@limit) LOWER(CONVERT(varchar(36), i.[id$1])) AS [id], i.[source$1] AS [source],
  i.[idempotencyKey$1] AS [idempotency_key], i.[aggregateId$1] AS [aggregate_id],
  i.[eventType$1] AS [event_type], i.[attempt$1] AS [attempt],
  CONVERT(varchar(33), i.[createdAt$1], 126) + 'Z' AS [created_at], CONVERT(varchar(33), i.[claimedAt$1], 126) + 'Z' AS [claimed_at],
  i.[lastError$1] AS [last_error]
FROM [Messaging].[letters] AS i
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'dead'
  AND (@src IS NULL OR i.[source$1] = @src)
  AND (@after IS NULL OR i.[createdAt$1] < @created OR (i.[createdAt$1] = @created AND i.[id$1] < @after))
ORDER BY i.[createdAt$1] DESC, i.[id$1] DESC;
