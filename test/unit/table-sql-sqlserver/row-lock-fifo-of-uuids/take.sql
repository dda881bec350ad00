-- take: group, named
SET NOCOUNT ON;
DECLARE @group uniqueidentifier = CAST(@p1 AS uniqueidentifier);
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @given TABLE ([n] int NOT NULL PRIMARY KEY, [id] nvarchar(4000) NULL, [token] nvarchar(40) NULL, [attempt] bigint NULL, [delay] bigint NULL, [reason] nvarchar(max) NULL);
INSERT INTO @given ([n], [id], [token], [attempt], [delay], [reason])
SELECT g.[n], g.[id], g.[token], g.[attempt], g.[delay], g.[reason]
FROM OPENJSON(@p2) WITH ([n] int '$[0]', [id] nvarchar(4000) '$[1]', [token] nvarchar(40) '$[2]', [attempt] bigint '$[3]', [delay] bigint '$[4]', [reason] nvarchar(max) '$[5]') AS g;
SET XACT_ABORT OFF;
DECLARE @claimed TABLE (turn int NOT NULL, held uniqueidentifier NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL);
DECLARE @tried TABLE (name nvarchar(4000) COLLATE Latin1_General_BIN2 NOT NULL);
DECLARE @lock nvarchar(255), @granted int, @value uniqueidentifier, @group_named nvarchar(4000);
DECLARE @answer TABLE (n int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL);
DECLARE @n int = 0, @count int = (SELECT COUNT(*) FROM @given);
DECLARE @id uniqueidentifier, @named nvarchar(4000), @token datetime2(7), @attempt bigint, @delay bigint, @reason nvarchar(max);
WHILE @n < @count
BEGIN
SELECT @id = CAST(g.[id] AS uniqueidentifier), @named = g.[id], @token = CONVERT(datetime2(7), g.[token], 126), @attempt = g.[attempt], @delay = g.[delay], @reason = g.[reason]
FROM @given AS g
WHERE g.[n] = @n;
SET @group_named = NULL;
SELECT @value = i.[grp], @group_named = LOWER(CONVERT(varchar(36), i.[grp]))
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[grp] = @group AND i.[done] IS NULL AND (i.[due] IS NULL OR i.[due] <= @now);
IF @group_named IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @tried AS d WHERE d.name = @group_named)
BEGIN
INSERT INTO @tried (name) VALUES (@group_named);
SET @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray jobs/' + N'group ' + @group_named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray jobs/' + N'group ' + @group_named), 2) ELSE N'intray jobs/' + N'group ' + @group_named END);
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
BEGIN TRY
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key])
SELECT @n,
  i.[id],
  LOWER(CONVERT(varchar(36), i.[id])),
  NULL,
  NULL,
  LOWER(CONVERT(varchar(36), i.[grp])),
  LOWER(CONVERT(varchar(36), i.[grp]))
FROM [jobs] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id AND i.[grp] = @value AND i.[done] IS NULL AND (i.[due] IS NULL OR i.[due] <= @now);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @n)
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
END;
SET @n = @n + 1;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key]
FROM @claimed AS t
ORDER BY t.turn;
