-- row: id
SET NOCOUNT ON;
DECLARE @id uniqueidentifier = CAST(@p1 AS uniqueidentifier);
SELECT
  LOWER(CONVERT(varchar(36), i.[id])) AS v0,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS v1,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[lease]), '+00:00')), 126) AS v2
FROM [jobs] AS i
WHERE i.[id] = @id;
