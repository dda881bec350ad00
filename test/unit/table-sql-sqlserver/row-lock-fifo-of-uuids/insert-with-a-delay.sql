-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
INSERT INTO [jobs] ([id], [grp], [prio], [due], [done])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier), CAST(@p2 AS uniqueidentifier), CAST(@p3 AS int), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p4 AS decimal(30, 3)) AS bigint) END) / 86400000 AS int), @now)), CONVERT(datetime2(7), @p5, 126))
) AS v (n, c0, c1, c2, c3, c4)
ORDER BY v.n;
