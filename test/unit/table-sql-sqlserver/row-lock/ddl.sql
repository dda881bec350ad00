IF OBJECT_ID(N'[app].[jobs]', N'U') IS NULL
CREATE TABLE [app].[jobs] (
  [id] bigint IDENTITY(1, 1) NOT NULL,
  [grp] nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL,
  [due] datetime2(7) NULL,
  [att] smallint NOT NULL DEFAULT 1,
  [pay] nvarchar(max) NOT NULL,
  [done] datetime2(7) NULL,
  [why] nvarchar(max) NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[app].[jobs]') AND x.name = N'jobs_claim_idx'
)
CREATE INDEX [jobs_claim_idx]
  ON [app].[jobs] ([grp], [due], [id])
  WHERE [done] IS NULL;
