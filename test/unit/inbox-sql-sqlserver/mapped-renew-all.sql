-- leaseMs, ids, tokens
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @given TABLE ([id] uniqueidentifier NOT NULL, [token] uniqueidentifier NOT NULL);
DECLARE @extended TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY);
INSERT INTO @given ([id], [token])
SELECT CAST(JSON_VALUE(ids.[value], '$[0]') AS uniqueidentifier), CAST(JSON_VALUE(tokens.[value], '$[0]') AS uniqueidentifier)
FROM OPENJSON(@p2) AS ids INNER JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = ids.[key];
UPDATE i
SET [leaseExpiresAt$1] = DATEADD(millisecond, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) / 86400000 AS int), @now))
OUTPUT inserted.[id$1] INTO @extended ([id])
FROM [Messaging].[letters] AS i WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) INNER JOIN @given AS g ON g.[id] = i.[id$1]
WHERE i.[consumption$1] = 'pull' AND i.[state$1] = N'processing' AND i.[claimToken$1] = g.[token] AND i.[leaseExpiresAt$1] > @now;
SELECT LOWER(CONVERT(varchar(36), g.[id])) AS [id],
  CASE
    WHEN e.[id] IS NOT NULL THEN 'extended'
    WHEN seen.[id$1] IS NULL AND there.[id$1] IS NOT NULL THEN 'locked'
    WHEN seen.[consumption$1] = 'pull' AND seen.[state$1] = N'processing' AND seen.[claimToken$1] = g.[token] AND seen.[leaseExpiresAt$1] > @now THEN 'locked'
    ELSE 'lost'
  END AS [outcome]
FROM @given AS g
LEFT JOIN @extended AS e ON e.[id] = g.[id]
LEFT JOIN [Messaging].[letters] AS seen WITH (READCOMMITTEDLOCK, READPAST) ON seen.[id$1] = g.[id]
LEFT JOIN [Messaging].[letters] AS there WITH (NOLOCK) ON there.[id$1] = g.[id];
