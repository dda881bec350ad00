-- row: id, from
SET NOCOUNT ON;
DECLARE @id uniqueidentifier = CAST(@p1 AS uniqueidentifier);
DECLARE @from uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SELECT
  LOWER(CONVERT(varchar(36), i.[id])) AS v0,
  LOWER(CONVERT(varchar(36), i.[grp])) AS v1,
  CONVERT(varchar(20), i.[prio]) AS v2,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS v3,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[done]), '+00:00')), 126) AS v4
FROM [jobs] AS i
WHERE i.[id] = @id AND i.[done] IS NULL AND (@from IS NULL OR (i.[grp] = @from));
