-- status: limit, from
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from int = CAST(@p2 AS int);
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(varchar(20), i.[grp]) AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[done] IS NULL AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN 1 END)) AS waiting,
  NULL AS future,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[done] IS NULL AND i.[lease] > @now THEN 1 END)) AS in_work,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[done] IS NULL AND i.[lease] <= @now THEN 1 END)) AS expired,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[done] IS NOT NULL THEN 1 END)) AS processed,
  NULL AS oldest_due,
  NULL AS oldest_due_ms
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from))
GROUP BY i.[grp]
ORDER BY i.[grp];
