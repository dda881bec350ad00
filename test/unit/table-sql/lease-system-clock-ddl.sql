CREATE TABLE IF NOT EXISTS "jobs" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  "due" timestamptz,
  "lease" timestamptz
);

CREATE INDEX IF NOT EXISTS "jobs_claim_idx"
  ON "jobs" ("due", "id");

CREATE OR REPLACE FUNCTION "jobs_notify"() RETURNS trigger LANGUAGE plpgsql AS $intray$
BEGIN
  PERFORM pg_notify(
    'jobs',
    CASE WHEN octet_length(fresh.name) < 8000 THEN fresh.name ELSE '' END
  )
  FROM (
    SELECT DISTINCT '' AS name
    FROM inserted AS i
    WHERE (i."due" IS NULL OR i."due" <= clock_timestamp())
  ) AS fresh;
  RETURN NULL;
END
$intray$;

DROP TRIGGER IF EXISTS "jobs_notify" ON "jobs";

CREATE TRIGGER "jobs_notify"
  AFTER INSERT ON "jobs"
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION "jobs_notify"();
