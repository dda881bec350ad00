-- readBack: given
SET NOCOUNT ON;
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p1) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
SET XACT_ABORT OFF;
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, outcome nvarchar(10) NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id nvarchar(4000), @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS nvarchar(max)), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
BEGIN TRY
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, CASE
  WHEN i.[id] = @id AND i.[lease] = @token AND i.[done] IS NULL THEN N'ours'
  WHEN i.[done] IS NULL AND i.[lease] IS NOT NULL THEN N'taken'
  ELSE N'other'
END
FROM [jobs] AS i WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE i.[id] = @id;
INSERT INTO @answer (n, id, outcome)
SELECT @n, @named, N'gone' WHERE NOT EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
INSERT INTO @answer (n, id, outcome) VALUES (@n, @named, N'locked');
END CATCH;
SET @n = @n + 1;
END;
SELECT a.id, a.outcome
FROM @answer AS a
ORDER BY a.n;
