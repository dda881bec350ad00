CREATE TABLE IF NOT EXISTS "jobs" (
  "id" TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
  "due" TEXT,
  "lease" TEXT
);

CREATE INDEX IF NOT EXISTS "jobs_claim_idx"
  ON "jobs" ("due", "id");
