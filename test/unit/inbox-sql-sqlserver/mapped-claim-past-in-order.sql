-- source, batch, leaseMs, token
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
DECLARE @most int = @p2, @hold bigint = @p3, @own uniqueidentifier = CAST(@p4 AS uniqueidentifier);
DECLARE @window TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [leads] bit NOT NULL);
DECLARE @taken TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [expired] bit NOT NULL);
DECLARE @row uniqueidentifier = '00000000-0000-0000-0000-000000000000';
DECLARE @scheduled datetime2(7) = '0001-01-01', @created datetime2(7) = '0001-01-01';
DECLARE @read int = 500, @free int = 0;
DECLARE @chunk TABLE (
  [id] uniqueidentifier NOT NULL PRIMARY KEY, [scheduled_at] datetime2(7) NOT NULL, [created_at] datetime2(7) NOT NULL,
  [place] int NOT NULL, [leads] bit NOT NULL
);
DECLARE @found TABLE ([sum] int NOT NULL, [id] uniqueidentifier NOT NULL, [free] bit NOT NULL, PRIMARY KEY ([sum], [id]));
WHILE @read = 500 AND @free < 2 * @most
BEGIN
  DELETE FROM @chunk;
  INSERT INTO @chunk ([scheduled_at], [created_at], [id], [place], [leads])
  SELECT next.[scheduled_at], next.[created_at], next.[id], ROW_NUMBER() OVER (ORDER BY next.[scheduled_at], next.[created_at], next.[id]),
  CASE WHEN next.[aggregate_id] IS NULL THEN 1
    WHEN ROW_NUMBER() OVER (PARTITION BY next.[aggregate_id] ORDER BY next.[scheduled_at], next.[created_at], next.[id]) = 1 THEN 1 ELSE 0 END
  FROM (
    SELECT TOP (500) i.[aggregateId$1] AS [aggregate_id], i.[scheduledAt$1] AS [scheduled_at], i.[createdAt$1] AS [created_at], i.[id$1] AS [id]
    FROM [Messaging].[letters] AS i WITH (READPAST)
    WHERE i.[source$1] = @src AND i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now AND i.[scheduledAt$1] >= @scheduled AND (
      i.[scheduledAt$1] > @scheduled
      OR i.[createdAt$1] > @created
      OR (i.[createdAt$1] = @created AND i.[id$1] > @row)
    )
    ORDER BY i.[scheduledAt$1], i.[createdAt$1], i.[id$1]
  ) AS next;
  SET @read = @@ROWCOUNT;
  SELECT TOP (1) @scheduled = c.[scheduled_at], @created = c.[created_at], @row = c.[id]
  FROM @chunk AS c
  ORDER BY c.[place] DESC;
  -- A busy aggregate's row is kept too: the aggregate may come free meanwhile, and a later row must not pass it.
  INSERT INTO @found ([sum], [id], [free])
  SELECT CHECKSUM(i.[aggregateId$1]), c.[id], CASE WHEN EXISTS (
      SELECT 1
      FROM [Messaging].[letters] AS busy
      WHERE busy.[source$1] = @src
        AND busy.[aggregateId$1] = i.[aggregateId$1]
        AND busy.[consumption$1] = 'pull' AND busy.[state$1] = N'processing' AND busy.[leaseExpiresAt$1] > @now
    ) THEN 0 ELSE 1 END
  FROM @chunk AS c INNER JOIN [Messaging].[letters] AS i ON i.[id$1] = c.[id]
  WHERE c.[leads] = 1
    AND NOT EXISTS (
      SELECT 1
      FROM @found AS f INNER JOIN [Messaging].[letters] AS earlier ON earlier.[id$1] = f.[id]
      WHERE f.[sum] = CHECKSUM(i.[aggregateId$1]) AND earlier.[aggregateId$1] = i.[aggregateId$1]
    );
  SET @free = (SELECT COUNT(*) FROM @found AS f WHERE f.[free] = 1);
END;
-- An expired row behind the end of the walk may have a pending one before it that was not seen.
INSERT INTO @found ([sum], [id], [free])
SELECT CHECKSUM(ranked.[aggregate_id]), ranked.[id], 1
FROM (
  SELECT i.[aggregateId$1] AS [aggregate_id], i.[scheduledAt$1] AS [scheduled_at], i.[createdAt$1] AS [created_at], i.[id$1] AS [id],
    ROW_NUMBER() OVER (PARTITION BY i.[aggregateId$1] ORDER BY i.[scheduledAt$1], i.[createdAt$1], i.[id$1]) AS [rank]
  FROM [Messaging].[letters] AS i WITH (READPAST)
  WHERE i.[source$1] = @src AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now
) AS ranked
WHERE (ranked.[aggregate_id] IS NULL OR ranked.[rank] = 1)
  AND (@read < 500 OR ranked.[scheduled_at] < @scheduled
  OR (ranked.[scheduled_at] = @scheduled AND ranked.[created_at] < @created)
  OR (ranked.[scheduled_at] = @scheduled AND ranked.[created_at] = @created AND ranked.[id] < @row))
  AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.[id] = ranked.[id]);
INSERT INTO @window ([id], [place], [leads])
SELECT every.[id], ROW_NUMBER() OVER (ORDER BY every.[scheduled_at], every.[created_at], every.[id]),
  CASE WHEN every.[aggregate_id] IS NULL THEN 1
    WHEN ROW_NUMBER() OVER (PARTITION BY every.[aggregate_id] ORDER BY every.[scheduled_at], every.[created_at], every.[id]) = 1 THEN 1 ELSE 0 END
FROM (
  SELECT i.[aggregateId$1] AS [aggregate_id], i.[scheduledAt$1] AS [scheduled_at], i.[createdAt$1] AS [created_at], i.[id$1] AS [id]
  FROM @found AS f INNER JOIN [Messaging].[letters] AS i ON i.[id$1] = f.[id]
) AS every;
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
    [leaseExpiresAt$1] = DATEADD(millisecond, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) / 86400000 AS int), @now)),
    [attempt$1] = i.[attempt$1] + CAST(t.[expired] AS int)
FROM [Messaging].[letters] AS i WITH (READPAST, ROWLOCK) INNER JOIN @taken AS t ON t.[id] = i.[id$1]
WHERE i.[source$1] = @src
  AND ((t.[expired] = 0 AND i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now) OR (t.[expired] = 1 AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now));
SELECT claimed.[id], claimed.[source], claimed.[idempotency_key], claimed.[aggregate_id], claimed.[event_type], claimed.[correlation_id], claimed.[payload], claimed.[headers], claimed.[attempt],
  claimed.[expired], claimed.[claimed_at], whole.*
FROM (SELECT N'' AS [cursor], CAST(CASE WHEN @read < 500 AND (SELECT COUNT(*) FROM @taken) < @most THEN 1 ELSE 0 END AS bit) AS [ended]) AS whole
LEFT JOIN (
  SELECT t.[place], t.[expired], LOWER(CONVERT(varchar(36), i.[id$1])) AS [id], i.[source$1] AS [source],
    i.[idempotencyKey$1] AS [idempotency_key], i.[aggregateId$1] AS [aggregate_id], i.[eventType$1] AS [event_type], i.[correlationId$1] AS [correlation_id], i.[select] AS [payload], i.[headers$1] AS [headers], i.[attempt$1] AS [attempt],
    CONVERT(varchar(33), i.[claimedAt$1], 126) AS [claimed_at]
  FROM @taken AS t INNER JOIN [Messaging].[letters] AS i WITH (READPAST) ON i.[id$1] = t.[id]
  WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[claimToken$1] = @own
) AS claimed ON 1 = 1
ORDER BY claimed.[place];
