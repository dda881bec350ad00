-- insert without ids: r0c0, r0c1, r1c0, r1c1
SET NOCOUNT ON;
DECLARE @made TABLE (id bigint NOT NULL);
INSERT INTO [app].[jobs] ([pay], [why])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0, v.c1
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max)), CAST(@p2 AS nvarchar(max))),
  (1, CAST(@p3 AS nvarchar(max)), CAST(@p4 AS nvarchar(max)))
) AS v (n, c0, c1)
ORDER BY v.n;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;
