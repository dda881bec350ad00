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
SET [state] = N'pending',
    [attempt] = CASE WHEN i.[attempt] > g.[charge] THEN i.[attempt] - g.[charge] ELSE 0 END,
    [claim_token] = NULL,
    [claimed_at] = NULL,
    [lease_expires_at] = NULL
OUTPUT inserted.[id] INTO @released ([id])
FROM [inbox] AS i WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) INNER JOIN @given AS g ON g.[id] = i.[id]
WHERE i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[claim_token] = g.[token];
SELECT LOWER(CONVERT(varchar(36), r.[id])) AS [id] FROM @released AS r;
