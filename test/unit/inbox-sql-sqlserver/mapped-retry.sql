-- delayMs, error, id, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
UPDATE i
SET [state$1] = N'pending',
    [scheduledAt$1] = DATEADD(millisecond, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) / 86400000 AS int), @now)),
    [attempt$1] = i.[attempt$1] + 1,
    [lastError$1] = @p2,
    [claimToken$1] = NULL,
    [leaseExpiresAt$1] = NULL
FROM [Messaging].[letters] AS i
WHERE i.[id$1] = CAST(@p3 AS uniqueidentifier)
  AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing'
  AND i.[claimToken$1] = CAST(@p4 AS uniqueidentifier)
  AND i.[leaseExpiresAt$1] > @now;
SELECT 1 AS [done] WHERE @@ROWCOUNT = 1;
