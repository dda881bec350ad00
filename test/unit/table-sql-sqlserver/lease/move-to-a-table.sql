-- move to a table: from, group, given
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @from nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @group nvarchar(4000) = CAST(@p2 AS nvarchar(max));
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p3) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
DECLARE @gone TABLE (n int NOT NULL);
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id bigint, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS bigint), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
INSERT INTO [jobs] ([pay], [grp], [att])
SELECT i.[pay], @group, 1
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
DELETE i
OUTPUT @n INTO @gone (n)
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND (i.[lease] IS NULL OR i.[lease] <= @now) AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|')) AND EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
IF EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n) AND NOT EXISTS (SELECT 1 FROM @gone AS g WHERE g.n = @n)
THROW 51000, N'intray: a row changed while it was moved', 1;
END TRY
BEGIN CATCH
THROW;
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id
FROM @answer AS a
ORDER BY a.n;
