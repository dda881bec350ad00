CREATE TABLE IF NOT EXISTS "inbox" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  "source" varchar(255) NOT NULL,
  "idempotency_key" varchar(255) NOT NULL,
  "aggregate_id" varchar(255),
  "event_type" varchar(255),
  "payload" jsonb NOT NULL,
  "state" varchar(50) NOT NULL DEFAULT 'pending',
  "created_at" timestamptz NOT NULL DEFAULT now(),
  "processed_at" timestamptz,
  "claimed_at" timestamptz,
  "correlation_id" varchar(128),
  "claim_token" uuid,
  "lease_expires_at" timestamptz,
  "consumption" varchar(4) NOT NULL DEFAULT 'push' CHECK ("consumption" IN ('push', 'pull')),
  "scheduled_at" timestamptz NOT NULL DEFAULT now(),
  "attempt" int NOT NULL DEFAULT 0,
  "last_error" text,
  "headers" jsonb NOT NULL DEFAULT '{}',
  UNIQUE ("source", "idempotency_key")
);

CREATE INDEX IF NOT EXISTS "inbox_due_idx"
  ON "inbox" ("source", "scheduled_at", "created_at", "id")
  WHERE "consumption" = 'pull' AND "state" = 'pending';

CREATE INDEX IF NOT EXISTS "inbox_lease_idx"
  ON "inbox" ("source", "aggregate_id", "lease_expires_at")
  WHERE "consumption" = 'pull' AND "state" = 'processing';

CREATE INDEX IF NOT EXISTS "inbox_aggregate_state_idx"
  ON "inbox" ("aggregate_id", "state");

CREATE INDEX IF NOT EXISTS "inbox_aggregate_due_idx"
  ON "inbox" ("source", "aggregate_id", "scheduled_at", "created_at", "id")
  WHERE "consumption" = 'pull' AND "state" = 'pending';

CREATE OR REPLACE FUNCTION "inbox_notify"() RETURNS trigger LANGUAGE plpgsql AS $intray$
BEGIN
  PERFORM pg_notify('inbox', fresh.source)
  FROM (
    SELECT DISTINCT i."source"::text AS source
    FROM inserted AS i
    WHERE i."consumption" = 'pull' AND i."state" = 'pending' AND i."scheduled_at" <= clock_timestamp()
  ) AS fresh;
  RETURN NULL;
END
$intray$;

DROP TRIGGER IF EXISTS "inbox_notify" ON "inbox";

CREATE TRIGGER "inbox_notify"
  AFTER INSERT ON "inbox"
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION "inbox_notify"();
