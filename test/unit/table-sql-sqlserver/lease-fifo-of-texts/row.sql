-- row: id, from
SET NOCOUNT ON;
DECLARE @id nvarchar(4000) = CAST(@p1 AS nvarchar(max));
DECLARE @from int = CAST(@p2 AS int);
SELECT
  CONVERT(nvarchar(max), i.[id]) AS v0,
  CONVERT(varchar(20), i.[grp]) AS v1,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS v2,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[done]), '+00:00')), 126) AS v3,
  CONVERT(nvarchar(max), i.[pay]) AS v4
FROM [jobs] AS i
WHERE i.[id] = @id AND i.[done] IS NULL AND (@from IS NULL OR (i.[grp] = @from));
