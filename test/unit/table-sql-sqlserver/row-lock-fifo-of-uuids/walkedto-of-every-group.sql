-- walkedTo of every group: after
SET NOCOUNT ON;
DECLARE @after uniqueidentifier = CAST(@p1 AS uniqueidentifier);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @value uniqueidentifier;
DECLARE @next uniqueidentifier, @visited int = 0, @wrapped int = 0;
IF @after IS NULL
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] IS NOT NULL
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @after
ORDER BY g.[grp];
WHILE @visited < 500
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR @after IS NULL BREAK;
SET @wrapped = 1;
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] <= @after
ORDER BY g.[grp];
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
SET @next = NULL;
IF @wrapped = 0
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @value
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[done] IS NULL AND g.[grp] > @value AND g.[grp] <= @after
ORDER BY g.[grp];
END;
SELECT LOWER(CONVERT(varchar(36), @value)) AS [group] WHERE @visited = 500;
