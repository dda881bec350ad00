-- ids
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @changed TABLE (id uniqueidentifier NOT NULL);
UPDATE i
SET [state] = N'pending',
    [scheduled_at] = @now,
    [attempt] = 0,
    [claim_token] = NULL,
    [claimed_at] = NULL,
    [lease_expires_at] = NULL,
    [processed_at] = NULL
OUTPUT inserted.[id] INTO @changed (id)
FROM OPENJSON(@p1) WITH ([id] uniqueidentifier '$[0]') AS g
INNER JOIN [inbox] AS i WITH (ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = g.[id]
WHERE i.[consumption] = 'pull' AND i.[state] = N'dead'
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), c.id)) AS [id]
FROM @changed AS c;
