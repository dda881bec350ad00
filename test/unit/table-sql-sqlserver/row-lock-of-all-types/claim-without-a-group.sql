-- claim without a group: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @candidate TABLE (turn int NOT NULL PRIMARY KEY, id nvarchar(4000) NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @claimed TABLE (turn int NOT NULL, held nvarchar(4000) NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 varbinary(max) NULL, c1 nvarchar(max) NULL, c2 nvarchar(max) NULL, c3 nvarchar(max) NULL, c4 nvarchar(max) NULL, c5 nvarchar(max) NULL);
DECLARE @window int = 26, @found int, @turn int, @taken int = 0, @granted int;
DECLARE @id nvarchar(4000), @lock nvarchar(255);
WHILE @window > 0 AND @taken < @limit
BEGIN
DELETE FROM @candidate;
INSERT INTO @candidate (turn, id, named)
SELECT TOP (@window) ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id), due_row.id, due_row.named
FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NOT NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[id] AS id, CONVERT(nvarchar(max), i.[id]) AS named
      FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE i.[prio] IS NULL
      ORDER BY i.[prio], i.[id]
      ) AS range_2
) AS due_row
ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.id;
SET @found = (SELECT COUNT(*) FROM @candidate);
SET @turn = 1;
WHILE @turn <= @found AND @taken < @limit
BEGIN
SELECT @id = c.id, @lock = CONVERT(nvarchar(255), CASE WHEN DATALENGTH(N'intray odd ]name/' + N'row ' + c.named) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', N'intray odd ]name/' + N'row ' + c.named), 2) ELSE N'intray odd ]name/' + N'row ' + c.named END)
FROM @candidate AS c
WHERE c.turn = @turn;
IF NOT EXISTS (SELECT 1 FROM @claimed AS t WHERE t.held = @id)
BEGIN
EXEC @granted = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
IF @granted >= 0
BEGIN
INSERT INTO @claimed (turn, held, id, token, attempt, [group], [key], c0, c1, c2, c3, c4, c5)
SELECT @taken + 1,
  i.[id],
  CONVERT(nvarchar(max), i.[id]),
  NULL,
  NULL,
  NULL,
  CONVERT(varchar(41), i.[part]),
  CONVERT(varbinary(max), i.[pay]),
  CONVERT(varchar(20), i.[on]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[at]), '+00:00')), 126),
  CONVERT(varchar(41), i.[price]),
  LOWER(CONVERT(varchar(36), i.[ref])),
  CONVERT(nvarchar(max), i.[place])
FROM [odd ]]name] AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.[id] = @id;
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @taken + 1)
SET @taken = @taken + 1;
ELSE
EXEC sp_releaseapplock @Resource = @lock, @LockOwner = N'Transaction';
END;
END;
SET @turn = @turn + 1;
END;
SET @window = CASE WHEN @window = 26 AND @found = 26 THEN 5000 ELSE 0 END;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0, t.c1, t.c2, t.c3, t.c4, t.c5
FROM @claimed AS t
ORDER BY t.turn;
