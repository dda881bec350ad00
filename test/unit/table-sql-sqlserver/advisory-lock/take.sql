-- take: key, group, named
SET NOCOUNT ON;
DECLARE @key nvarchar(max) = @p1;
DECLARE @group nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @now datetime2(7) = SYSUTCDATETIME();
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
SET [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @n,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  NULL,
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  CONCAT(N'job-', COALESCE(CONVERT(varchar(20), inserted.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), inserted.[grp]) COLLATE Latin1_General_BIN2, N'')),
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @group + N'|' AND (i.[due] IS NULL OR i.[due] <= @now) AND (CONVERT(nvarchar(max), CONCAT(N'job-', COALESCE(CONVERT(varchar(20), i.[id]), N''), N'/', COALESCE(CONVERT(nvarchar(max), i.[grp]) COLLATE Latin1_General_BIN2, N''))) + N'|') COLLATE Latin1_General_BIN2 = @key + N'|';
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
