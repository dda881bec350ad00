-- delayMs, error, id, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
UPDATE i
SET [state] = N'pending',
    [scheduled_at] = DATEADD(millisecond, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) / 86400000 AS int), @now)),
    [attempt] = i.[attempt] + 1,
    [last_error] = @p2,
    [claim_token] = NULL,
    [lease_expires_at] = NULL
FROM [inbox] AS i
WHERE i.[id] = CAST(@p3 AS uniqueidentifier)
  AND i.[consumption] = 'pull' AND i.[state] = N'processing'
  AND i.[claim_token] = CAST(@p4 AS uniqueidentifier)
  AND i.[lease_expires_at] > @now;
SELECT 1 AS [done] WHERE @@ROWCOUNT = 1;
