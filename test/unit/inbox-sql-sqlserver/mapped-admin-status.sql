-- source
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @src nvarchar(4000) = @p1;
SELECT
  i.[source$1] AS [source],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now THEN 1 END)) AS [backlog],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] > @now THEN 1 END)) AS [scheduled],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] > @now THEN 1 END)) AS [in_work],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[leaseExpiresAt$1] <= @now THEN 1 END)) AS [expired],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[state$1] = N'dead' THEN 1 END)) AS [dead],
  CONVERT(varchar(33), MIN(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now THEN i.[scheduledAt$1] END), 126) + 'Z' AS [oldest_due],
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN i.[consumption$1] = 'pull' AND i.[state$1] = N'pending' AND i.[scheduledAt$1] <= @now THEN i.[scheduledAt$1] END), @now)) AS [oldest_due_ms]
FROM [Messaging].[letters] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[consumption$1] = 'pull'
  AND i.[state$1] IN (N'pending', N'processing', N'dead')
  AND (@src IS NULL OR i.[source$1] = @src)
GROUP BY i.[source$1]
ORDER BY i.[source$1];
