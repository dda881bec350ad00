-- row: id
SET NOCOUNT ON;
DECLARE @id smallint = CAST(@p1 AS smallint);
SELECT
  CONVERT(varchar(20), i.[id]) AS v0,
  LOWER(CONVERT(varchar(max), CONVERT(varbinary(max), i.[key]), 2)) AS v1,
  CONVERT(nvarchar(max), i.[pay]) AS v2
FROM [jobs] AS i
WHERE i.[id] = @id;
