-- 
SELECT wanted.[role], wanted.[name], TYPE_NAME(found.user_type_id) AS [type],
  CAST(CASE WHEN found.column_id IS NULL THEN 0 ELSE 1 END AS bit) AS [present],
  CAST(CASE WHEN inbox.[object_id] IS NULL THEN 0 ELSE 1 END AS bit) AS [table_present]
FROM (VALUES (N'id', N'id$1'), (N'consumption', N'consumption$1'), (N'source', N'source$1'), (N'state', N'state$1'), (N'scheduledAt', N'scheduledAt$1'), (N'createdAt', N'createdAt$1'), (N'claimToken', N'claimToken$1'), (N'claimedAt', N'claimedAt$1'), (N'leaseExpiresAt', N'leaseExpiresAt$1'), (N'processedAt', N'processedAt$1'), (N'attempt', N'attempt$1'), (N'lastError', N'lastError$1'), (N'idempotencyKey', N'idempotencyKey$1'), (N'aggregateId', N'aggregateId$1'), (N'eventType', N'eventType$1'), (N'payload', N'select'), (N'headers', N'headers$1'), (N'correlationId', N'correlationId$1')) AS wanted ([role], [name])
CROSS JOIN (SELECT OBJECT_ID(N'[Messaging].[letters]') AS [object_id]) AS inbox
LEFT JOIN sys.columns AS found ON found.object_id = inbox.[object_id] AND found.name = wanted.[name];
