-- insert without ids: r0c0, r0c1, r1c0, r1c1
SET NOCOUNT ON;
DECLARE @made TABLE (id smallint NOT NULL);
INSERT INTO [jobs] ([key], [pay])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0, v.c1
FROM (VALUES
  (0, CONVERT(varbinary(max), @p1), CAST(@p2 AS nvarchar(max))),
  (1, CONVERT(varbinary(max), @p3), CAST(@p4 AS nvarchar(max)))
) AS v (n, c0, c1)
ORDER BY v.n;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;
