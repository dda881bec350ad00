-- id
SELECT LOWER(CONVERT(varchar(36), i.[id$1])) AS [id], i.[source$1] AS [source],
  i.[idempotencyKey$1] AS [idempotency_key], i.[aggregateId$1] AS [aggregate_id],
  i.[eventType$1] AS [event_type], i.[attempt$1] AS [attempt],
  CONVERT(varchar(33), i.[createdAt$1], 126) + 'Z' AS [created_at], CONVERT(varchar(33), i.[claimedAt$1], 126) + 'Z' AS [claimed_at],
  i.[lastError$1] AS [last_error],
  i.[correlationId$1] AS [correlation_id],
  i.[select] AS [payload],
  i.[headers$1] AS [headers]
FROM [Messaging].[letters] AS i
WHERE i.[id$1] = CAST(@p1 AS uniqueidentifier) AND i.[consumption$1] = 'pull' AND i.[state$1] = N'dead';
