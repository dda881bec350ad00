-- 
SELECT CAST(CASE WHEN EXISTS (
  SELECT 1
  FROM sys.indexes AS x
  WHERE x.object_id = OBJECT_ID(N'[Messaging].[letters]')
    AND x.type IN (1, 2) AND x.is_disabled = 0 AND x.is_hypothetical = 0
    AND (
      SELECT COUNT(*)
      FROM sys.index_columns AS k INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
      WHERE k.object_id = x.object_id AND k.index_id = x.index_id AND k.is_descending_key = 0
        AND ((k.key_ordinal = 1 AND c.name = N'source$1') OR (k.key_ordinal = 2 AND c.name = N'aggregateId$1') OR (k.key_ordinal = 3 AND c.name = N'scheduledAt$1') OR (k.key_ordinal = 4 AND c.name = N'createdAt$1') OR (k.key_ordinal = 5 AND c.name = N'id$1'))
    ) = 5
    AND (x.has_filter = 0 OR REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(x.filter_definition, N'(', N''), N')', N''), N'[', N''), N']', N''), N' ', N''), N'=N''', N'=''') IN (N'consumption$1=''pull''ANDstate$1=''pending''', N'state$1=''pending''ANDconsumption$1=''pull'''))
) THEN 1 ELSE 0 END AS bit) AS [by_aggregate];
