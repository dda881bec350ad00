-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
INSERT INTO [jobs] ([id], [grp], [prio])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier), CAST(@p2 AS uniqueidentifier), CAST(@p3 AS int)),
  (1, CAST(@p4 AS uniqueidentifier), CAST(@p5 AS uniqueidentifier), CAST(@p6 AS int))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
