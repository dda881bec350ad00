-- id
SELECT LOWER(CONVERT(varchar(36), i.[id])) AS [id], i.[source] AS [source],
  i.[idempotency_key] AS [idempotency_key], i.[aggregate_id] AS [aggregate_id],
  i.[event_type] AS [event_type], i.[attempt] AS [attempt],
  CONVERT(varchar(33), i.[created_at], 126) + 'Z' AS [created_at], CONVERT(varchar(33), i.[claimed_at], 126) + 'Z' AS [claimed_at],
  i.[last_error] AS [last_error],
  i.[correlation_id] AS [correlation_id],
  i.[payload] AS [payload],
  i.[headers] AS [headers]
FROM [inbox] AS i
WHERE i.[id] = CAST(@p1 AS uniqueidentifier) AND i.[consumption] = 'pull' AND i.[state] = N'dead';
