-- insert without ids: r0c0, r1c0
SET NOCOUNT ON;
DECLARE @made TABLE (id bigint NOT NULL);
INSERT INTO [jobs] ([pay])
OUTPUT inserted.[id] INTO @made (id)
SELECT v.c0
FROM (VALUES
  (0, CAST(@p1 AS nvarchar(max))),
  (1, CAST(@p2 AS nvarchar(max)))
) AS v (n, c0)
ORDER BY v.n;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;
