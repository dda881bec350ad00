-- source, batch, leaseMs, candLimit
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @lock nvarchar(255), @got int, @why nvarchar(2048);
SELECT @lock = CONCAT(N'intray inbox ', OBJECT_ID(N'[Messaging].[letters]'), N' ', CHECKSUM(RTRIM(
  CASE WHEN UPPER(s.[source$1]) = LOWER(s.[source$1]) THEN UPPER(s.[source$1]) ELSE s.[source$1] END
)))
FROM (SELECT i.[source$1] FROM [Messaging].[letters] AS i WHERE 1 = 0 UNION ALL SELECT @src) AS s;
EXEC @got = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 10000;
IF @got < 0
BEGIN
  SET @why = CONCAT(N'intray: the lock of the source was not to be had within 10 s, or no transaction is open (sp_getapplock: ', @got, N')');
  THROW 51000, @why, 1;
END;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @most int = @p2, @hold bigint = @p3, @own uniqueidentifier = NEWID();
DECLARE @window TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [leads] bit NOT NULL);
DECLARE @taken TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [expired] bit NOT NULL);
DECLARE @look int = @p4;
INSERT INTO @window ([id], [place], [leads])
SELECT held.[id], ROW_NUMBER() OVER (ORDER BY held.[scheduled_at], held.[created_at], held.[id]),
  CASE WHEN held.[aggregate_id] IS NULL THEN 1
    WHEN ROW_NUMBER() OVER (PARTITION BY held.[aggregate_id] ORDER BY held.[scheduled_at], held.[created_at], held.[id]) = 1 THEN 1 ELSE 0 END
FROM (
  SELECT TOP (@look) [kinds].[aggregate_id], [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
  FROM (
    SELECT due.[aggregate_id], due.[scheduled_at], due.[created_at], due.[id]
    FROM (
      SELECT TOP (@look) i.[aggregateId$1] AS [aggregate_id], i.[scheduledAt$1] AS [scheduled_at], i.[createdAt$1] AS [created_at], i.[id$1] AS [id]
      FROM [Messaging].[letters] AS i WITH (READPAST)
      WHERE i.[source$1] = @src AND i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now
      ORDER BY i.[scheduledAt$1], i.[createdAt$1], i.[id$1]
    ) AS due
    UNION
    SELECT expired.[aggregate_id], expired.[scheduled_at], expired.[created_at], expired.[id]
    FROM (
      SELECT TOP (@look) i.[aggregateId$1] AS [aggregate_id], i.[scheduledAt$1] AS [scheduled_at], i.[createdAt$1] AS [created_at], i.[id$1] AS [id]
      FROM [Messaging].[letters] AS i WITH (READPAST)
      WHERE i.[source$1] = @src AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now
      ORDER BY i.[scheduledAt$1], i.[createdAt$1], i.[id$1]
    ) AS expired
  ) AS [kinds]
  ORDER BY [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
) AS held;
INSERT INTO @taken ([id], [place], [expired])
SELECT TOP (@most) i.[id$1], w.[place], CASE WHEN i.[state$1] = N'processing' THEN 1 ELSE 0 END
FROM @window AS w INNER JOIN [Messaging].[letters] AS i WITH (UPDLOCK, READPAST, ROWLOCK) ON i.[id$1] = w.[id]
WHERE w.[leads] = 1
  AND i.[source$1] = @src
  AND ((i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now) OR (i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now))
  AND NOT EXISTS (
    SELECT 1
    FROM [Messaging].[letters] AS busy
    WHERE busy.[source$1] = @src
      AND busy.[aggregateId$1] = i.[aggregateId$1]
      AND busy.[consumption$1] = 'pull' AND busy.[state$1] = N'processing' AND busy.[leaseExpiresAt$1] > @now
  )
ORDER BY w.[place];
UPDATE i
SET [state$1] = N'processing',
    [claimToken$1] = @own,
    [claimedAt$1] = @now,
    [leaseExpiresAt$1] = DATEADD(millisecond, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) / 86400000 AS int), @now))
FROM [Messaging].[letters] AS i WITH (READPAST, ROWLOCK) INNER JOIN @taken AS t ON t.[id] = i.[id$1]
WHERE i.[source$1] = @src
  AND ((t.[expired] = 0 AND i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now) OR (t.[expired] = 1 AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now));
SELECT i.[id$1] AS [id], i.[source$1] AS [source], i.[idempotencyKey$1] AS [idempotency_key], i.[aggregateId$1] AS [aggregate_id], i.[eventType$1] AS [event_type], i.[correlationId$1] AS [correlation_id], i.[select] AS [payload], i.[headers$1] AS [headers], i.[attempt$1] AS [attempt], i.[claimToken$1] AS [claim_token]
FROM @taken AS t INNER JOIN [Messaging].[letters] AS i WITH (READPAST) ON i.[id$1] = t.[id]
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[claimToken$1] = @own
ORDER BY t.[place];
