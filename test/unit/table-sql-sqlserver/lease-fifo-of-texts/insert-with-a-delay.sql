-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4
SET NOCOUNT ON;
INSERT INTO [jobs] ([id], [grp], [lease], [done], [pay])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS int), CONVERT(datetime2(7), @p3, 126), CONVERT(datetime2(7), @p4, 126), CAST(@p5 AS nvarchar(max)))
) AS v (n, c0, c1, c2, c3, c4)
ORDER BY v.n;
