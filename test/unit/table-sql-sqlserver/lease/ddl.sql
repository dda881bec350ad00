IF OBJECT_ID(N'[jobs]', N'U') IS NULL
CREATE TABLE [jobs] (
  [id] bigint IDENTITY(1, 1) NOT NULL,
  [grp] nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL,
  [due] datetime2(7) NULL,
  [att] smallint NOT NULL DEFAULT 1,
  [pay] nvarchar(max) NOT NULL,
  [lease] datetime2(7) NULL,
  [prio] int NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[jobs]') AND x.name = N'jobs_claim_idx'
)
CREATE INDEX [jobs_claim_idx]
  ON [jobs] ([grp], [prio], [due], [id]);
