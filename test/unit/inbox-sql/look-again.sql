-- ids, token
SELECT mine."id"::text AS id
FROM "inbox" AS mine
WHERE mine."id" = ANY ($1::text::uuid[])
  AND mine."claim_token" = $2::uuid
  AND mine."consumption" = 'pull' AND mine."state" = 'processing'
  AND CASE WHEN mine."aggregate_id" IS NULL THEN false ELSE EXISTS (
    SELECT 1
    FROM "inbox" AS other
    WHERE other."source" = mine."source"
      AND other."aggregate_id" = mine."aggregate_id"
      AND other."consumption" = 'pull' AND other."state" = 'processing' AND other."lease_expires_at" > statement_timestamp()
      AND other."id" <> mine."id"
      AND (
        other."claim_token" <> $2::uuid
        OR (other."scheduled_at", other."created_at", other."id") < (mine."scheduled_at", mine."created_at", mine."id")
      )
  ) END
