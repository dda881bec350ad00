-- insert without ids: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5
SET NOCOUNT ON;
DECLARE @made TABLE (id nvarchar(4000) NOT NULL);
INSERT INTO [odd ]]name] ([pay], [on], [at], [price], [ref], [place])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5
FROM (VALUES
  (0, CONVERT(varbinary(max), @p1), CAST(@p2 AS bit), CONVERT(datetime2(7), @p3, 126), CAST(@p4 AS nvarchar(4000)), CAST(@p5 AS uniqueidentifier), @p6)
) AS v (n, c0, c1, c2, c3, c4, c5)
ORDER BY v.n;
SELECT CONVERT(nvarchar(max), m.id) AS id
FROM @made AS m
ORDER BY m.id;
