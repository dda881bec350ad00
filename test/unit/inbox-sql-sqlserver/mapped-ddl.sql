SET QUOTED_IDENTIFIER ON;

IF OBJECT_ID(N'[Messaging].[letters]', N'U') IS NULL
CREATE TABLE [Messaging].[letters] (
  [id$1] uniqueidentifier NOT NULL DEFAULT NEWID(),
  [source$1] nvarchar(255) NOT NULL,
  [idempotencyKey$1] nvarchar(255) NOT NULL,
  [aggregateId$1] nvarchar(255) NULL,
  [eventType$1] nvarchar(255) NULL,
  [select] nvarchar(max) NOT NULL,
  [state$1] nvarchar(50) NOT NULL DEFAULT N'pending',
  [createdAt$1] datetime2 NOT NULL DEFAULT GETUTCDATE(),
  [processedAt$1] datetime2 NULL,
  [claimedAt$1] datetime2 NULL,
  [correlationId$1] nvarchar(128) NULL,
  [claimToken$1] uniqueidentifier NULL,
  [leaseExpiresAt$1] datetime2 NULL,
  [consumption$1] varchar(4) NOT NULL DEFAULT 'push' CHECK ([consumption$1] IN ('push', 'pull')),
  [scheduledAt$1] datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
  [attempt$1] int NOT NULL DEFAULT 0,
  [lastError$1] nvarchar(max) NULL,
  [headers$1] nvarchar(max) NOT NULL DEFAULT N'{}',
  PRIMARY KEY ([id$1]),
  UNIQUE ([source$1], [idempotencyKey$1])
);

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[Messaging].[letters]') AND x.name = N'letters_due_idx')
CREATE INDEX [letters_due_idx]
  ON [Messaging].[letters] ([source$1], [scheduledAt$1], [createdAt$1], [id$1])
  WHERE [consumption$1] = 'pull' AND [state$1] = N'pending';

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[Messaging].[letters]') AND x.name = N'letters_lease_idx')
CREATE INDEX [letters_lease_idx]
  ON [Messaging].[letters] ([source$1], [aggregateId$1], [leaseExpiresAt$1])
  WHERE [consumption$1] = 'pull' AND [state$1] = N'processing';

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[Messaging].[letters]') AND x.name = N'letters_aggregate_state_idx')
CREATE INDEX [letters_aggregate_state_idx]
  ON [Messaging].[letters] ([aggregateId$1], [state$1]);
