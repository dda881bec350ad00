-- remove: from, given
SET NOCOUNT ON;
DECLARE @from nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @lock nvarchar(255), @granted int;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
SELECT @lock = NULL, @granted = -1;
SELECT @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray app.jobs/' + N'group ' + CONVERT(nvarchar(max), i.[grp])) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray app.jobs/' + N'group ' + CONVERT(nvarchar(max), i.[grp])), 2) ELSE N'intray app.jobs/' + N'group ' + CONVERT(nvarchar(max), i.[grp]) END)
FROM [app].[jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
IF @lock IS NOT NULL
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM [app].[jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
END;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;
