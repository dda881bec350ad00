EXEC sys.sp_describe_first_result_set @tsql = N'SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @lock nvarchar(255), @got int, @why nvarchar(2048);
SELECT @lock = CONCAT(N''intray inbox '', OBJECT_ID(N''[inbox]''), N'' '', CHECKSUM(RTRIM(
  CASE WHEN UPPER(s.[source]) = LOWER(s.[source]) THEN UPPER(s.[source]) ELSE s.[source] END
)))
FROM (SELECT i.[source] FROM [inbox] AS i WHERE 1 = 0 UNION ALL SELECT @src) AS s;
SET @got = 0;
IF @got < 0
BEGIN
  SET @why = CONCAT(N''intray: the lock of the source was not to be had within 10 s, or no transaction is open (sp_getapplock: '', @got, N'')'');
  THROW 51000, @why, 1;
END;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @most int = @p2, @hold bigint = @p3, @own uniqueidentifier = CAST(@p4 AS uniqueidentifier);
DECLARE @window TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [leads] bit NOT NULL);
DECLARE @taken TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [expired] bit NOT NULL);
INSERT INTO @window ([id], [place], [leads])
SELECT held.[id], ROW_NUMBER() OVER (ORDER BY held.[scheduled_at], held.[created_at], held.[id]),
  CASE WHEN held.[aggregate_id] IS NULL THEN 1
    WHEN ROW_NUMBER() OVER (PARTITION BY held.[aggregate_id] ORDER BY held.[scheduled_at], held.[created_at], held.[id]) = 1 THEN 1 ELSE 0 END
FROM (
  SELECT TOP (50) [kinds].[aggregate_id], [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
  FROM (
    SELECT due.[aggregate_id], due.[scheduled_at], due.[created_at], due.[id]
    FROM (
      SELECT TOP (50) i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id]
      FROM [inbox] AS i WITH (READPAST)
      WHERE i.[source] = @src AND i.[consumption] = ''pull'' AND i.[state] = N''pending'' AND i.[scheduled_at] <= @now
      ORDER BY i.[scheduled_at], i.[created_at], i.[id]
    ) AS due
    UNION
    SELECT expired.[aggregate_id], expired.[scheduled_at], expired.[created_at], expired.[id]
    FROM (
      SELECT TOP (50) i.[aggregate_id] AS [aggregate_id], i.[scheduled_at] AS [scheduled_at], i.[created_at] AS [created_at], i.[id] AS [id]
      FROM [inbox] AS i WITH (READPAST)
      WHERE i.[source] = @src AND i.[consumption] = ''pull'' AND i.[state] = N''processing'' AND i.[lease_expires_at] <= @now
      ORDER BY i.[scheduled_at], i.[created_at], i.[id]
    ) AS expired
  ) AS [kinds]
  ORDER BY [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
) AS held;
DECLARE @held int = @@ROWCOUNT;
INSERT INTO @taken ([id], [place], [expired])
SELECT TOP (@most) i.[id], w.[place], CASE WHEN i.[state] = N''processing'' THEN 1 ELSE 0 END
FROM @window AS w INNER JOIN [inbox] AS i WITH (UPDLOCK, READPAST, ROWLOCK) ON i.[id] = w.[id]
WHERE w.[leads] = 1
  AND i.[source] = @src
  AND ((i.[consumption] = ''pull'' AND i.[state] = N''pending'' AND i.[scheduled_at] <= @now) OR (i.[consumption] = ''pull'' AND i.[state] = N''processing'' AND i.[lease_expires_at] <= @now))
  AND NOT EXISTS (
    SELECT 1
    FROM [inbox] AS busy
    WHERE busy.[source] = @src
      AND busy.[aggregate_id] = i.[aggregate_id]
      AND busy.[consumption] = ''pull'' AND busy.[state] = N''processing'' AND busy.[lease_expires_at] > @now
  )
ORDER BY w.[place];
UPDATE i
SET [state] = N''processing'',
    [claim_token] = @own,
    [claimed_at] = @now,
    [lease_expires_at] = DATEADD(millisecond, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@hold AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@hold AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@hold AS bigint) END) / 86400000 AS int), @now))
FROM [inbox] AS i WITH (READPAST, ROWLOCK) INNER JOIN @taken AS t ON t.[id] = i.[id]
WHERE i.[source] = @src
  AND ((t.[expired] = 0 AND i.[consumption] = ''pull'' AND i.[state] = N''pending'' AND i.[scheduled_at] <= @now) OR (t.[expired] = 1 AND i.[consumption] = ''pull'' AND i.[state] = N''processing'' AND i.[lease_expires_at] <= @now));
SELECT claimed.[id], claimed.[source], claimed.[idempotency_key], claimed.[aggregate_id], claimed.[event_type], claimed.[correlation_id], claimed.[payload], claimed.[headers], claimed.[attempt],
  claimed.[expired], claimed.[claimed_at], whole.*
FROM (SELECT @held AS [held]) AS whole
LEFT JOIN (
  SELECT t.[place], t.[expired], LOWER(CONVERT(varchar(36), i.[id])) AS [id], i.[source] AS [source],
    i.[idempotency_key] AS [idempotency_key], i.[aggregate_id] AS [aggregate_id], i.[event_type] AS [event_type], i.[correlation_id] AS [correlation_id], i.[payload] AS [payload], i.[headers] AS [headers], i.[attempt] AS [attempt],
    CONVERT(varchar(33), i.[claimed_at], 126) AS [claimed_at]
  FROM @taken AS t INNER JOIN [inbox] AS i WITH (READPAST) ON i.[id] = t.[id]
  WHERE i.[consumption] = ''pull'' AND i.[state] = N''processing'' AND i.[claim_token] = @own
) AS claimed ON 1 = 1
ORDER BY claimed.[place];', @params = N'@p1 nvarchar(max), @p2 nvarchar(max), @p3 nvarchar(max), @p4 nvarchar(max)';
