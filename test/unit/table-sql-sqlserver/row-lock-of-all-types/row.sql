-- row: id
SET NOCOUNT ON;
DECLARE @id nvarchar(4000) = CAST(@p1 AS nvarchar(max));
SELECT
  CONVERT(nvarchar(max), i.[id]) AS v0,
  CONVERT(varchar(20), i.[prio]) AS v1,
  CONVERT(varchar(41), i.[part]) AS v2,
  LOWER(CONVERT(varchar(max), CONVERT(varbinary(max), i.[pay]), 2)) AS v3,
  CONVERT(varchar(20), i.[on]) AS v4,
  CONVERT(varchar(33), CONVERT(datetime2(7), SWITCHOFFSET(CONVERT(datetimeoffset(7), i.[at]), '+00:00')), 126) AS v5,
  CONVERT(varchar(41), i.[price]) AS v6,
  LOWER(CONVERT(varchar(36), i.[ref])) AS v7,
  CONVERT(nvarchar(max), i.[place]) AS v8
FROM [odd ]]name] AS i
WHERE i.[id] = @id;
