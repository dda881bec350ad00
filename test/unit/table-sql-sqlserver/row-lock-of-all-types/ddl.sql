IF OBJECT_ID(N'[odd ]]name]', N'U') IS NULL
CREATE TABLE [odd ]]name] (
  [id] nvarchar(255) COLLATE Latin1_General_BIN2 NOT NULL,
  [prio] bigint NULL,
  [part] decimal(38, 10) NOT NULL,
  [pay] varbinary(max) NOT NULL,
  [on] bit NULL,
  [at] datetime2(7) NULL,
  [price] decimal(38, 10) NULL,
  [ref] uniqueidentifier NULL,
  [place] nvarchar(max) NULL,
  PRIMARY KEY ([id])
);

IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[odd ]]name]') AND x.name = N'odd ]name_claim_idx'
)
CREATE INDEX [odd ]]name_claim_idx]
  ON [odd ]]name] ([prio], [id]);
