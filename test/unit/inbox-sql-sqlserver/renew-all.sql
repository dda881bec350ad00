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
SET [lease_expires_at] = DATEADD(millisecond, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(@p1 AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(@p1 AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(@p1 AS bigint) END) / 86400000 AS int), @now))
OUTPUT inserted.[id] INTO @extended ([id])
FROM [inbox] AS i WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) INNER JOIN @given AS g ON g.[id] = i.[id]
WHERE i.[consumption] = 'pull' AND i.[state] = N'processing' AND i.[claim_token] = g.[token] AND i.[lease_expires_at] > @now;
SELECT LOWER(CONVERT(varchar(36), g.[id])) AS [id],
  CASE
    WHEN e.[id] IS NOT NULL THEN 'extended'
    WHEN seen.[id] IS NULL AND there.[id] IS NOT NULL THEN 'locked'
    WHEN seen.[consumption] = 'pull' AND seen.[state] = N'processing' AND seen.[claim_token] = g.[token] AND seen.[lease_expires_at] > @now THEN 'locked'
    ELSE 'lost'
  END AS [outcome]
FROM @given AS g
LEFT JOIN @extended AS e ON e.[id] = g.[id]
LEFT JOIN [inbox] AS seen WITH (READCOMMITTEDLOCK, READPAST) ON seen.[id] = g.[id]
LEFT JOIN [inbox] AS there WITH (NOLOCK) ON there.[id] = g.[id];
