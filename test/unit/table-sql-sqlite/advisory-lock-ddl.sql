CREATE TABLE IF NOT EXISTS "jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "grp" TEXT NOT NULL,
  "due" TEXT,
  "att" INTEGER NOT NULL DEFAULT 1,
  "pay" TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS "jobs_claim_idx"
  ON "jobs" ("grp", "due", "id");
