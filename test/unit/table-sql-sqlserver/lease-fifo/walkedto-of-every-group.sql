-- walkedTo of every group: after
SET NOCOUNT ON;
DECLARE @after nvarchar(4000) = CAST(@p1 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @value nvarchar(4000);
DECLARE @next nvarchar(4000), @visited int = 0, @wrapped int = 0;
IF @after IS NULL
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] IS NOT NULL
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @after
ORDER BY g.[grp];
WHILE @visited < 500
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR @after IS NULL BREAK;
SET @wrapped = 1;
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] <= @after
ORDER BY g.[grp];
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
SET @next = NULL;
IF @wrapped = 0
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @value
ORDER BY g.[grp];
ELSE
SELECT TOP (1) @next = g.[grp]
FROM [jobs] AS g WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE g.[grp] > @value AND g.[grp] <= @after
ORDER BY g.[grp];
END;
SELECT CONVERT(nvarchar(max), @value) AS [group] WHERE @visited = 500;
