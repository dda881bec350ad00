-- id, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
UPDATE i
SET [state] = N'processed',
    [processed_at] = @now,
    [claim_token] = NULL,
    [lease_expires_at] = NULL
FROM [inbox] AS i
WHERE i.[id] = CAST(@p1 AS uniqueidentifier)
  AND i.[consumption] = 'pull' AND i.[state] = N'processing'
  AND i.[claim_token] = CAST(@p2 AS uniqueidentifier)
  AND i.[lease_expires_at] > @now;
IF @@ROWCOUNT <> 1 THROW 51001, N'intray: this claim is lost', 1;
SELECT 1 AS [done];
