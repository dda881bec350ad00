-- source
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
FROM (
  SELECT TOP (1000) d.[id] AS id
  FROM [inbox] AS d WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
  WHERE d.[consumption] = 'pull' AND d.[state] = N'dead' AND d.[source] = @p1
  ORDER BY d.[created_at], d.[id]
) AS found
INNER JOIN [inbox] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = found.id
WHERE i.[consumption] = 'pull' AND i.[state] = N'dead'
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT LOWER(CONVERT(varchar(36), c.id)) AS [id]
FROM @changed AS c;
