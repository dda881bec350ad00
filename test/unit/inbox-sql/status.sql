-- source
SELECT
  i."source" AS source,
  count(*) FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp())::text AS backlog,
  count(*) FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" > statement_timestamp())::text AS scheduled,
  count(*) FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" > statement_timestamp())::text AS in_work,
  count(*) FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'processing' AND i."lease_expires_at" <= statement_timestamp())::text AS expired,
  count(*) FILTER (WHERE i."state" = 'dead')::text AS dead,
  to_char(min(i."scheduled_at") FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp()) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS oldest_due,
  (extract(epoch FROM statement_timestamp() - min(i."scheduled_at") FILTER (WHERE i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= statement_timestamp())) * 1000)::bigint::text AS oldest_due_ms
FROM "inbox" AS i
WHERE i."consumption" = 'pull'
  AND i."state" IN ('pending', 'processing', 'dead')
  AND ($1::text IS NULL OR i."source" = $1::text)
GROUP BY i."source"
ORDER BY i."source"
