-- take: leaseMs, group, named
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @until datetime2(7) = DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p1 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p1 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p1 AS bigint) AS bigint) END) / 86400000 AS int), @now));
DECLARE @group nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @n,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now);
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
