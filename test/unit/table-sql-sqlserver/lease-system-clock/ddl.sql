IF OBJECT_ID(N'[jobs]', N'U') IS NULL
CREATE TABLE [jobs] (
  [id] uniqueidentifier NOT NULL DEFAULT NEWID(),
  [due] datetime2(7) NULL,
  [lease] datetime2(7) NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[jobs]') AND x.name = N'jobs_claim_idx'
)
CREATE INDEX [jobs_claim_idx]
  ON [jobs] ([due], [id]);
