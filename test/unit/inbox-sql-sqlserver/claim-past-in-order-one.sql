-- source, batch, leaseMs, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @lock nvarchar(255), @got int, @why nvarchar(2048);
SELECT @lock = CONCAT(N'intray inbox ', OBJECT_ID(N'[inbox]'), N' ', CHECKSUM(RTRIM(
  CASE WHEN UPPER(s.[source]) = LOWER(s.[source]) THEN UPPER(s.[source]) ELSE s.[source] END
)))
FROM (SELECT i.[source] FROM [inbox] AS i WHERE 1 = 0 UNION ALL SELECT @src) AS s;
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
    SELECT TOP (500) i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id]
    FROM [inbox] AS i WITH (READPAST)
    WHERE i.[source] = @src AND i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now AND i.[scheduled_at] >= @scheduled AND (
      i.[scheduled_at] > @scheduled
      OR i.[created_at] > @created
      OR (i.[created_at] = @created AND i.[id] > @row)
    )
    ORDER BY i.[scheduled_at], i.[created_at], i.[id]
  ) AS next;
  SET @read = @@ROWCOUNT;
  SELECT TOP (1) @scheduled = c.[scheduled_at], @created = c.[created_at], @row = c.[id]
  FROM @chunk AS c
  ORDER BY c.[place] DESC;
  -- A busy aggregate's row is kept too: the aggregate may come free meanwhile, and a later row must not pass it.
  INSERT INTO @found ([sum], [id], [free])
  SELECT CHECKSUM(i.[aggregate_id]), c.[id], CASE WHEN EXISTS (
      SELECT 1
      FROM [inbox] AS busy
      WHERE busy.[source] = @src
        AND busy.[aggregate_id] = i.[aggregate_id]
        AND busy.[consumption] = 'pull' AND busy.[state] = N'processing' AND busy.[lease_expires_at] > @now
    ) THEN 0 ELSE 1 END
  FROM @chunk AS c INNER JOIN [inbox] AS i ON i.[id] = c.[id]
  WHERE c.[leads] = 1
    AND NOT EXISTS (
      SELECT 1
      FROM @found AS f INNER JOIN [inbox] AS earlier ON earlier.[id] = f.[id]
      WHERE f.[sum] = CHECKSUM(i.[aggregate_id]) AND earlier.[aggregate_id] = i.[aggregate_id]
    );
  SET @free = (SELECT COUNT(*) FROM @found AS f WHERE f.[free] = 1);
END;
-- An expired row behind the end of the walk may have a pending one before it that was not seen.
INSERT INTO @found ([sum], [id], [free])
SELECT CHECKSUM(ranked.[aggregate_id]), ranked.[id], 1
FROM (
  SELECT i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id],
    ROW_NUMBER() OVER (PARTITION BY i.[aggregate_id] ORDER BY i.[scheduled_at], i.[created_at], i.[id]) AS [rank]
  FROM [inbox] AS i WITH (READPAST)
  WHERE i.[source] = @src AND i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] <= @now
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
  SELECT i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id]
  FROM @found AS f INNER JOIN [inbox] AS i ON i.[id] = f.[id]
) AS every;
INSERT INTO @taken ([id], [place], [expired])
SELECT TOP (@most) i.[id], w.[place], CASE WHEN i.[state] = N'processing' THEN 1 ELSE 0 END
FROM @window AS w INNER JOIN [inbox] AS i WITH (UPDLOCK, READPAST, ROWLOCK) ON i.[id] = w.[id]
WHERE w.[leads] = 1
  AND i.[source] = @src
  AND ((i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now) OR (i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] <= @now))
  AND NOT EXISTS (
    SELECT 1
    FROM [inbox] AS busy
    WHERE busy.[source] = @src
      AND busy.[aggregate_id] = i.[aggregate_id]
      AND busy.[consumption] = 'pull' AND busy.[state] = N'processing' AND busy.[lease_expires_at] > @now
  )
ORDER BY w.[place];
UPDATE i
SET [state] = N'processing',
    [claim_token] = @own,
    [claimed_at] = @now,
    [lease_expires_at] = DATEADD(millisecond, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) / 86400000 AS int), @now))
FROM [inbox] AS i WITH (READPAST, ROWLOCK) INNER JOIN @taken AS t ON t.[id] = i.[id]
WHERE i.[source] = @src
  AND ((t.[expired] = 0 AND i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now) OR (t.[expired] = 1 AND i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] <= @now));
SELECT claimed.[id], claimed.[source], claimed.[idempotency_key], claimed.[aggregate_id], claimed.[event_type], claimed.[correlation_id], claimed.[payload], claimed.[headers], claimed.[attempt],
  claimed.[expired], claimed.[claimed_at], whole.*
FROM (SELECT N'' AS [cursor], CAST(CASE WHEN @read < 500 AND (SELECT COUNT(*) FROM @taken) < @most THEN 1 ELSE 0 END AS bit) AS [ended]) AS whole
LEFT JOIN (
  SELECT t.[place], t.[expired], LOWER(CONVERT(varchar(36), i.[id])) AS [id], i.[source] AS [source],
    i.[idempotency_key] AS [idempotency_key], i.[aggregate_id] AS [aggregate_id], i.[event_type] AS [event_type], i.[correlation_id] AS [correlation_id], i.[payload] AS [payload], i.[headers] AS [headers], i.[attempt] AS [attempt],
    CONVERT(varchar(33), i.[claimed_at], 126) AS [claimed_at]
  FROM @taken AS t INNER JOIN [inbox] AS i WITH (READPAST) ON i.[id] = t.[id]
  WHERE i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[claim_token] = @own
) AS claimed ON 1 = 1
ORDER BY claimed.[place];
