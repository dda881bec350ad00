SET QUOTED_IDENTIFIER ON;

IF OBJECT_ID(N'[inbox]', N'U') IS NULL
CREATE TABLE [inbox] (
  [id] uniqueidentifier NOT NULL DEFAULT NEWID(),
  [source] nvarchar(255) NOT NULL,
  [idempotency_key] nvarchar(255) NOT NULL,
  [aggregate_id] nvarchar(255) NULL,
  [event_type] nvarchar(255) NULL,
  [payload] nvarchar(max) NOT NULL,
  [state] nvarchar(50) NOT NULL DEFAULT N'pending',
  [created_at] datetime2 NOT NULL DEFAULT GETUTCDATE(),
  [processed_at] datetime2 NULL,
  [claimed_at] datetime2 NULL,
  [correlation_id] nvarchar(128) NULL,
  [claim_token] uniqueidentifier NULL,
  [lease_expires_at] datetime2 NULL,
  [consumption] varchar(4) NOT NULL DEFAULT 'push' CHECK ([consumption] IN ('push', 'pull')),
  [scheduled_at] datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
  [attempt] int NOT NULL DEFAULT 0,
  [last_error] nvarchar(max) NULL,
  [headers] nvarchar(max) NOT NULL DEFAULT N'{}',
  PRIMARY KEY ([id]),
  UNIQUE ([source], [idempotency_key])
);

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[inbox]') AND x.name = N'inbox_due_idx')
CREATE INDEX [inbox_due_idx]
  ON [inbox] ([source], [scheduled_at], [created_at], [id])
  WHERE [consumption] = 'pull' AND [state] = N'pending';

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[inbox]') AND x.name = N'inbox_lease_idx')
CREATE INDEX [inbox_lease_idx]
  ON [inbox] ([source], [aggregate_id], [lease_expires_at])
  WHERE [consumption] = 'pull' AND [state] = N'processing';

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[inbox]') AND x.name = N'inbox_aggregate_state_idx')
CREATE INDEX [inbox_aggregate_state_idx]
  ON [inbox] ([aggregate_id], [state]);

IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(N'[inbox]') AND x.name = N'inbox_aggregate_due_idx')
CREATE INDEX [inbox_aggregate_due_idx]
  ON [inbox] ([source], [aggregate_id], [scheduled_at], [created_at], [id])
  WHERE [consumption] = 'pull' AND [state] = N'pending';
