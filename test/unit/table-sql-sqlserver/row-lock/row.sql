-- row: id, from
SET NOCOUNT ON;
DECLARE @id bigint = CAST(@p1 AS bigint);
DECLARE @from nvarchar(4000) = CAST(@p2 AS nvarchar(max));
SELECT
  CONVERT(varchar(20), i.[id]) AS v0,
  CONVERT(nvarchar(max), i.[grp]) AS v1,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[due]), '+00:00')), 126) AS v2,
  CONVERT(varchar(20), i.[att]) AS v3,
  CONVERT(nvarchar(max), i.[pay]) AS v4,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[done]), '+00:00')), 126) AS v5,
  CONVERT(nvarchar(max), i.[why]) AS v6
FROM [app].[jobs] AS i
WHERE i.[id] = @id AND i.[done] IS NULL AND (@from IS NULL OR (i.[grp] = @from AND (CONVERT(nvarchar(max), i.[grp]) + N'|') COLLATE Latin1_General_BIN2 = @from + N'|'));
