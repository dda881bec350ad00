-- source
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @src nvarchar(4000) = @p1;
SELECT
  i.[source] AS [source],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now THEN 1 END)) AS [backlog],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] > @now THEN 1 END)) AS [scheduled],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] > @now THEN 1 END)) AS [in_work],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[lease_expires_at] <= @now THEN 1 END)) AS [expired],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[state] = N'dead' THEN 1 END)) AS [dead],
  CONVERT(varchar(33), MIN(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now THEN i.[scheduled_at] END), 126) + 'Z' AS [oldest_due],
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN i.[consumption] = 'pull' AND i.[state] = N'pending' AND i.[scheduled_at] <= @now THEN i.[scheduled_at] END), @now)) AS [oldest_due_ms]
FROM [inbox] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[consumption] = 'pull'
  AND i.[state] IN (N'pending', N'processing', N'dead')
  AND (@src IS NULL OR i.[source] = @src)
GROUP BY i.[source]
ORDER BY i.[source];
