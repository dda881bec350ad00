EXEC sys.sp_describe_first_result_set @tsql = N'SET NOCOUNT ON;
DECLARE @group nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int ''$[0]'', [id] nvarchar(4000) ''$[1]'', [token] nvarchar(40) ''$[2]'', [attempt] bigint ''$[3]'', [delay] bigint ''$[4]'', [reason] nvarchar(max) ''$[5]'') AS g;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
UPDATE i
SET [grp] = @group,
    [att] = 1,
    [due] = NULL,
    [done] = NULL
OUTPUT @n, @named INTO @answer (n, id)
FROM [app].[jobs] AS i WITH (ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;', @params = N'@p1 nvarchar(max), @p2 nvarchar(max)';
