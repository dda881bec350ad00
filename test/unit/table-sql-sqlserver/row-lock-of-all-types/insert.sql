-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
INSERT INTO [odd ]]name] ([id], [prio], [part])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS bigint), CAST(@p3 AS nvarchar(4000))),
  (1, CAST(@p4 AS nvarchar(max)), CAST(@p5 AS bigint), CAST(@p6 AS nvarchar(4000)))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
