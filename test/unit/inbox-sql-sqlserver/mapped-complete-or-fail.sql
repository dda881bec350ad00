-- id, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
UPDATE i
SET [state$1] = N'processed',
    [processedAt$1] = @now,
    [claimToken$1] = NULL,
    [leaseExpiresAt$1] = NULL
FROM [Messaging].[letters] AS i
WHERE i.[id$1] = CAST(@p1 AS uniqueidentifier)
  AND i.[consumption$1] = 'pull' AND i.[state$1] = N'processing'
  AND i.[claimToken$1] = CAST(@p2 AS uniqueidentifier)
  AND i.[leaseExpiresAt$1] > @now;
IF @@ROWCOUNT <> 1 THROW 51001, N'intray: this claim is lost', 1;
SELECT 1 AS [done];
