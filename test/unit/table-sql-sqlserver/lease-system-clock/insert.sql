-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
INSERT INTO [jobs] ([id], [due], [lease])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier), CONVERT(datetime2(7), @p2, 126), CONVERT(datetime2(7), @p3, 126)),
  (1, CAST(@p4 AS uniqueidentifier), CONVERT(datetime2(7), @p5, 126), CONVERT(datetime2(7), @p6, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
