-- 
SELECT
  wanted.role,
  wanted.name,
  format_type(found.atttypid, found.atttypmod) AS type,
  found.attname IS NOT NULL AS present,
  inbox.oid IS NOT NULL AS table_present
FROM (VALUES ('id', 'id'), ('consumption', 'consumption'), ('source', 'source'), ('state', 'state'), ('scheduledAt', 'scheduled_at'), ('createdAt', 'created_at'), ('claimToken', 'claim_token'), ('claimedAt', 'claimed_at'), ('leaseExpiresAt', 'lease_expires_at'), ('processedAt', 'processed_at'), ('attempt', 'attempt'), ('lastError', 'last_error'), ('idempotencyKey', 'idempotency_key'), ('aggregateId', 'aggregate_id'), ('eventType', 'event_type'), ('payload', 'payload'), ('headers', 'headers'), ('correlationId', 'correlation_id')) AS wanted (role, name)
CROSS JOIN (SELECT to_regclass('"inbox"') AS oid) AS inbox
LEFT JOIN pg_attribute AS found
  ON found.attrelid = inbox.oid AND found.attname = wanted.name AND found.attnum > 0 AND NOT found.attisdropped
