-- status: now, limit
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
DECLARE @limit int = CAST(@p2 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  NULL AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN 1 END)) AS waiting,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL AND i.[due] > @now THEN 1 END)) AS future,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] > @now THEN 1 END)) AS in_work,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] <= @now THEN 1 END)) AS expired,
  NULL AS processed,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END)), '+00:00')), 126) AS oldest_due,
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END), @now)) AS oldest_due_ms
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE 1 = 1;
