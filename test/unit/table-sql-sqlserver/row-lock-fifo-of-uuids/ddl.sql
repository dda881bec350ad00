IF OBJECT_ID(N'[jobs]', N'U') IS NULL
CREATE TABLE [jobs] (
  [id] uniqueidentifier NOT NULL DEFAULT NEWID(),
  [grp] uniqueidentifier NOT NULL,
  [prio] int NULL,
  [due] datetime2(7) NULL,
  [done] datetime2(7) NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[jobs]') AND x.name = N'jobs_claim_idx'
)
CREATE INDEX [jobs_claim_idx]
  ON [jobs] ([grp], [prio], [due], [id])
  WHERE [done] IS NULL;
