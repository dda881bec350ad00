-- source, batch, leaseMs, token, cursor
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
DECLARE @from nvarchar(255) = @p5, @at nvarchar(255), @last nvarchar(255), @row uniqueidentifier, @scheduled datetime2(7);
DECLARE @step int = 1, @free int = 0, @full bit = 0;
DECLARE @found TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [step] int NULL);
SELECT TOP (1) @at = i.[aggregate_id], @row = i.[id],
  @scheduled = i.[scheduled_at]
FROM [inbox] AS i WITH (READPAST)
WHERE i.[source] = @src AND i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[aggregate_id] >= @from
ORDER BY i.[aggregate_id], i.[scheduled_at], i.[created_at], i.[id];
WHILE @row IS NOT NULL AND @step <= 1000 AND @free < 2 * @most
BEGIN
  IF @scheduled <= @now AND NOT EXISTS (
    SELECT 1
    FROM [inbox] AS busy
    WHERE busy.[source] = @src AND busy.[aggregate_id] = @at AND busy.[consumption] = 'pull' AND busy.[state] = N'processing' AND busy.[lease_expires_at] > @now
  )
  BEGIN
    INSERT INTO @found ([id], [step]) VALUES (@row, @step);
    SET @free = @free + 1;
  END;
  SET @step = @step + 1;
  SET @row = NULL;
  SET @last = @at;
  SELECT TOP (1) @at = i.[aggregate_id], @row = i.[id],
    @scheduled = i.[scheduled_at]
  FROM [inbox] AS i WITH (READPAST)
  WHERE i.[source] = @src AND i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[aggregate_id] > @last
  ORDER BY i.[aggregate_id], i.[scheduled_at], i.[created_at], i.[id];
END;
INSERT INTO @found ([id])
SELECT TOP (@most) i.[id]
FROM [inbox] AS i WITH (READPAST)
WHERE i.[source] = @src AND i.[aggregate_id] IS NULL AND i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now
ORDER BY i.[scheduled_at], i.[created_at], i.[id];
INSERT INTO @found ([id])
SELECT ranked.[id]
FROM (
  SELECT i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id],
    ROW_NUMBER() OVER (PARTITION BY i.[aggregate_id] ORDER BY i.[scheduled_at], i.[created_at], i.[id]) AS [rank]
  FROM [inbox] AS i WITH (READPAST)
  WHERE i.[source] = @src AND i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] <= @now
) AS ranked
WHERE (ranked.[aggregate_id] IS NULL OR ranked.[rank] = 1)
  AND (ranked.[aggregate_id] IS NULL OR NOT EXISTS (
    SELECT 1
    FROM [inbox] AS due WITH (READPAST)
    WHERE due.[source] = @src AND due.[aggregate_id] = ranked.[aggregate_id]
      AND due.[consumption] = 'pull' AND due.[state] = N'pending' AND due.[scheduled_at] <= @now AND due.[scheduled_at] <= ranked.[scheduled_at] AND (
        due.[scheduled_at] < ranked.[scheduled_at]
        OR due.[created_at] < ranked.[created_at]
        OR (due.[created_at] = ranked.[created_at] AND due.[id] < ranked.[id])
      )
  ))
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
IF (SELECT COUNT(*) FROM @taken) >= @most SET @full = 1;
-- The next walk begins at the last aggregate that this one took; what it walked over behind that has its turn then.
IF @full = 1
BEGIN
  SET @at = @from;
  SELECT TOP (1) @at = i.[aggregate_id]
  FROM @taken AS t
  INNER JOIN @found AS f ON f.[id] = t.[id]
  INNER JOIN [inbox] AS i WITH (READPAST) ON i.[id] = t.[id]
  WHERE f.[step] IS NOT NULL
  ORDER BY f.[step] DESC;
END;
SELECT claimed.[id], claimed.[source], claimed.[idempotency_key], claimed.[aggregate_id], claimed.[event_type], claimed.[correlation_id], claimed.[payload], claimed.[headers], claimed.[attempt],
  claimed.[expired], claimed.[claimed_at], whole.*
FROM (SELECT COALESCE(@at, @from) AS [cursor], CAST(CASE WHEN @full = 0 AND @row IS NULL THEN 1 ELSE 0 END AS bit) AS [ended]) AS whole
LEFT JOIN (
  SELECT t.[place], t.[expired], LOWER(CONVERT(varchar(36), i.[id])) AS [id], i.[source] AS [source],
    i.[idempotency_key] AS [idempotency_key], i.[aggregate_id] AS [aggregate_id], i.[event_type] AS [event_type], i.[correlation_id] AS [correlation_id], i.[payload] AS [payload], i.[headers] AS [headers], i.[attempt] AS [attempt],
    CONVERT(varchar(33), i.[claimed_at], 126) AS [claimed_at]
  FROM @taken AS t INNER JOIN [inbox] AS i WITH (READPAST) ON i.[id] = t.[id]
  WHERE i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[claim_token] = @own
) AS claimed ON 1 = 1
ORDER BY claimed.[place];
