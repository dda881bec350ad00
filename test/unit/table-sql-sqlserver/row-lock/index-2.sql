-- index 2: 
SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(N'[app].[jobs]')
    AND x.type IN (1, 2) AND x.is_disabled = 0 AND x.is_unique = 1
    AND (x.has_filter = 0)
  GROUP BY x.index_id
  HAVING (SUM(CASE WHEN k.key_ordinal = 1 AND c.name = N'id' AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1)
) THEN 1 ELSE 0 END AS present
