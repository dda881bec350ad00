-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5, r0c6, r0c7, r0c8
SET NOCOUNT ON;
INSERT INTO [odd ]]name] ([id], [prio], [part], [pay], [on], [at], [price], [ref], [place])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5, v.c6, v.c7, v.c8
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS bigint), CAST(@p3 AS nvarchar(4000)), CONVERT(varbinary(max), @p4), CAST(@p5 AS bit), CONVERT(datetime2(7), @p6, 126), CAST(@p7 AS nvarchar(4000)), CAST(@p8 AS uniqueidentifier), @p9)
) AS v (n, c0, c1, c2, c3, c4, c5, c6, c7, c8)
ORDER BY v.n;
