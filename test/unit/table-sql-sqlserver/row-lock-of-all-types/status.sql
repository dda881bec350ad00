-- status: limit
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  NULL AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN 1 = 1 THEN 1 END)) AS waiting,
  NULL AS future,
  NULL AS in_work,
  NULL AS expired,
  NULL AS processed,
  NULL AS oldest_due,
  NULL AS oldest_due_ms
FROM [odd ]]name] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE 1 = 1;
