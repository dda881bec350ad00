-- status: limit, from
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT TOP (@limit)
  CONVERT(nvarchar(max), i.[grp]) AS [group],
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN 1 END)) AS waiting,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL AND i.[due] > @now THEN 1 END)) AS future,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] > @now THEN 1 END)) AS in_work,
  CONVERT(varchar(20), COUNT_BIG(CASE WHEN i.[lease] <= @now THEN 1 END)) AS expired,
  NULL AS processed,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END)), '+00:00')), 126) AS oldest_due,
  CONVERT(varchar(20), DATEDIFF_BIG(millisecond, MIN(CASE WHEN (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[lease] IS NULL THEN i.[due] END), @now)) AS oldest_due_ms
FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'))
GROUP BY i.[grp]
ORDER BY i.[grp];
