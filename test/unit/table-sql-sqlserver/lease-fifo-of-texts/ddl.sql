IF OBJECT_ID(N'[jobs]', N'U') IS NULL
CREATE TABLE [jobs] (
  [id] nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL,
  [grp] int NOT NULL,
  [lease] datetime2(7) NULL,
  [done] datetime2(7) NULL,
  [pay] nvarchar(max) NOT NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[jobs]') AND x.name = N'jobs_claim_idx'
)
CREATE INDEX [jobs_claim_idx]
  ON [jobs] ([grp], [id])
  WHERE [done] IS NULL;

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[jobs]') AND x.name = N'jobs_lease_idx'
)
CREATE INDEX [jobs_lease_idx]
  ON [jobs] ([grp], [lease])
  WHERE [lease] IS NOT NULL;
