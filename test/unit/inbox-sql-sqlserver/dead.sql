-- error, id, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
UPDATE i
SET [state] = N'dead',
    [last_error] = @p1,
    [claim_token] = NULL,
    [lease_expires_at] = NULL
FROM [inbox] AS i
WHERE i.[id] = CAST(@p2 AS uniqueidentifier)
  AND i.[consumption] = 'pull' AND i.[state] = N'processing'
  AND i.[claim_token] = CAST(@p3 AS uniqueidentifier)
  AND i.[lease_expires_at] > @now;
SELECT 1 AS [done] WHERE @@ROWCOUNT = 1;
