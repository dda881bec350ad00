-- ids, tokens, charges
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @given TABLE ([id] uniqueidentifier NOT NULL, [token] uniqueidentifier NOT NULL, [charge] int NOT NULL);
DECLARE @released TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY);
INSERT INTO @given ([id], [token], [charge])
SELECT CAST(JSON_VALUE(ids.[value], '$[0]') AS uniqueidentifier), CAST(JSON_VALUE(tokens.[value], '$[0]') AS uniqueidentifier), CAST(JSON_VALUE(charges.[value], '$[0]') AS int)
FROM OPENJSON(@p1) AS ids
INNER JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = ids.[key]
INNER JOIN OPENJSON(@p3) AS charges ON charges.[key] = ids.[key];
UPDATE i
SET [state$1] = N'pending',
    [attempt$1] = CASE WHEN i.[attempt$1] > g.[charge] THEN i.[attempt$1] - g.[charge] ELSE 0 END,
    [claimToken$1] = NULL,
    [claimedAt$1] = NULL,
    [leaseExpiresAt$1] = NULL
OUTPUT inserted.[id$1] INTO @released ([id])
FROM [Messaging].[letters] AS i WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) INNER JOIN @given AS g ON g.[id] = i.[id$1]
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[claimToken$1] = g.[token];
SELECT LOWER(CONVERT(varchar(36), r.[id])) AS [id] FROM @released AS r;
