-- columns: 
SELECT
  c.name AS name,
  CASE
    WHEN ty.name IN (N'nvarchar', N'nchar') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length / 2) END, N')')
    WHEN ty.name IN (N'varchar', N'char', N'varbinary', N'binary') THEN CONCAT(ty.name, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CONVERT(nvarchar(10), c.max_length) END, N')')
    WHEN ty.name IN (N'decimal', N'numeric') THEN CONCAT(ty.name, N'(', c.[precision], N', ', c.[scale], N')')
    WHEN ty.name IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(ty.name, N'(', c.[scale], N')')
    ELSE COALESCE(ty.name, TYPE_NAME(c.user_type_id))
  END AS type,
  CASE WHEN c.is_nullable = 1 THEN 1 ELSE 0 END AS nullable,
  CASE
    WHEN c.is_computed = 1 OR c.generated_always_type <> 0 OR ty.name = N'timestamp' THEN N'always'
    WHEN c.is_identity = 1 OR c.default_object_id <> 0 THEN N'byDefault'
    ELSE N'never'
  END AS [generated],
  CASE
    WHEN ty.name IN (N'datetime2', N'datetimeoffset') THEN CONVERT(int, c.[scale])
    WHEN ty.name = N'datetime' THEN 2
    WHEN ty.name IN (N'smalldatetime', N'date') THEN 0
  END AS [precision],
  CAST(NULL AS nvarchar(400)) AS fault
FROM sys.columns AS c
LEFT JOIN sys.types AS ty ON ty.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(N'[jobs]')
ORDER BY c.column_id
