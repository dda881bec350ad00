-- 
SELECT wanted.[role], wanted.[name], TYPE_NAME(found.user_type_id) AS [type],
  CAST(CASE WHEN found.column_id IS NULL THEN 0 ELSE 1 END AS bit) AS [present],
  CAST(CASE WHEN inbox.[object_id] IS NULL THEN 0 ELSE 1 END AS bit) AS [table_present]
FROM (VALUES (N'id', N'id'), (N'consumption', N'consumption'), (N'source', N'source'), (N'state', N'state'), (N'scheduledAt', N'scheduled_at'), (N'createdAt', N'created_at'), (N'claimToken', N'claim_token'), (N'claimedAt', N'claimed_at'), (N'leaseExpiresAt', N'lease_expires_at'), (N'processedAt', N'processed_at'), (N'attempt', N'attempt'), (N'lastError', N'last_error'), (N'idempotencyKey', N'idempotency_key'), (N'aggregateId', N'aggregate_id'), (N'eventType', N'event_type'), (N'payload', N'payload'), (N'headers', N'headers'), (N'correlationId', N'correlation_id')) AS wanted ([role], [name])
CROSS JOIN (SELECT OBJECT_ID(N'[inbox]') AS [object_id]) AS inbox
LEFT JOIN sys.columns AS found ON found.object_id = inbox.[object_id] AND found.name = wanted.[name];
