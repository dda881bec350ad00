-- claim to a second: limit, leaseMs
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @until datetime2(7) = DATEADD(nanosecond, 499999900, DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p2 AS bigint) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p2 AS bigint) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p2 AS bigint) AS bigint) END) / 86400000 AS int), @now)));
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @claimed TABLE (turn int NOT NULL, held bigint NULL, id nvarchar(4000) NULL, token nvarchar(40) NULL, attempt nvarchar(20) NULL, [group] nvarchar(4000) NULL, [key] nvarchar(max) NULL, c0 nvarchar(max) NULL);
DECLARE @window int = 26, @base int = 0, @wanted int = @limit;
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET [lease] = @until,
    [att] = CASE WHEN i.[att] >= 32767 THEN i.[att] ELSE COALESCE(i.[att], 1) + 1 END
OUTPUT @base + picked.turn,
  inserted.[id],
  CONVERT(varchar(20), inserted.[id]),
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), inserted.[lease]), '+00:00')), 126),
  CONVERT(varchar(20), inserted.[att]),
  CONVERT(nvarchar(max), inserted.[grp]),
  NULL,
  CONVERT(nvarchar(max), inserted.[pay])
INTO @claimed (turn, held, id, token, attempt, [group], [key], c0)
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY CASE WHEN due_row.priority IS NULL THEN 1 ELSE 0 END, due_row.priority, due_row.due, due_row.id) AS turn
    FROM (
SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NOT NULL AND (i.[due] IS NULL OR i.[due] <= @now)
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_1
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] IS NULL
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_2
      UNION ALL
      SELECT * FROM (
      SELECT TOP (@window) i.[prio] AS priority, i.[due] AS due, i.[id] AS id
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE (i.[lease] IS NULL OR i.[lease] <= @now) AND i.[prio] IS NULL AND i.[due] <= @now
      ORDER BY i.[prio], i.[due], i.[id]
      ) AS range_3
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.[id] AS id
    FROM [jobs] AS l WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.[id] = candidate.id AND (l.[due] IS NULL OR l.[due] <= @now) AND (l.[lease] IS NULL OR l.[lease] <= @now)
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.[id] = picked.id
WHERE (i.[due] IS NULL OR i.[due] <= @now) AND (i.[lease] IS NULL OR i.[lease] <= @now)
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @base = 0 OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn > @base;
END CATCH;
SET @wanted = @limit - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = 26 AND @wanted > 0 THEN 5000 ELSE 0 END;
SET @base = 1000000;
END;
SELECT t.id, t.token, t.attempt, t.[group], t.[key], t.c0
FROM @claimed AS t
ORDER BY t.turn;
