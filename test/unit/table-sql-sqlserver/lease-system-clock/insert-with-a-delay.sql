-- insert with a delay: now, r0c0, r0c1, r0c2
SET NOCOUNT ON;
DECLARE @now datetime2(7) = CONVERT(datetime2(7), @p1, 126);
INSERT INTO [jobs] ([id], [due], [lease])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p2 AS uniqueidentifier), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) / 86400000 AS int), @now)), CONVERT(datetime2(7), @p4, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
