-- insert without ids: r0c0, r1c0
SET NOCOUNT ON;
INSERT INTO [jobs] ([id])
SELECT v.c0
FROM (VALUES
  (0, CAST(@p1 AS uniqueidentifier)),
  (1, CAST(@p2 AS uniqueidentifier))
) AS v (n, c0)
ORDER BY v.n;
