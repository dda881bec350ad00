-- take: now, leaseMs, named
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 100 * (CHECKSUM(NEWID()) & 8191), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = @until
OUTPUT @n,
  inserted.[id],
  LOWER(CONVERT(varchar(36), inserted.[id])),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  NULL,
  NULL,
  NULL
INTO @claimed (turn, held, id, token, attempt, [group], [key])
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now);
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;
