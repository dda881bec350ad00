-- take: key, named
SET NOCOUNT ON;
DECLARE @key nvarchar(max) = @p1;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @claimed TABLE (turn int NOT NULL, held smallint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id smallint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS smallint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
SELECT @n,
  i.[id],
  CONVERT(varchar(20), i.[id]),
  NULL,
  NULL,
  NULL,
  COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N''),
  CONVERT(nvarchar(max), i.[pay])
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (CONVERT(nvarchar(max), COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'')) + N'|') COLLATE Latin1_General_BIN2 = @key + N'|';
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
