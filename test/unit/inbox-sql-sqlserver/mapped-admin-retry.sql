-- ids
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @changed TABLE (id uniqueidentifier NOT NULL);
UPDATE i
SET [state$1] = N'pending',
    [scheduledAt$1] = @now,
    [attempt$1] = 0,
    [claimToken$1] = NULL,
    [claimedAt$1] = NULL,
    [leaseExpiresAt$1] = NULL,
    [processedAt$1] = NULL
OUTPUT inserted.[id$1] INTO @changed (id)
FROM OPENJSON(@p1) WITH ([id] uniqueidentifier '$[0]') AS g
INNER JOIN [Messaging].[letters] AS i WITH (ROWLOCK, READCOMMITTEDLOCK) ON i.[id$1] = g.[id]
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'dead'
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), c.id)) AS [id]
FROM @changed AS c;
