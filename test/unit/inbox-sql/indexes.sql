-- 
SELECT EXISTS (
  SELECT 1
  FROM pg_index AS x
  WHERE x.indrelid = to_regclass('"inbox"')
    AND x.indisvalid AND x.indisready AND x.indislive
    AND (SELECT am.amname FROM pg_class AS c JOIN pg_am AS am ON am.oid = c.relam WHERE c.oid = x.indexrelid) = 'btree'
    AND ARRAY['source', 'aggregate_id', 'scheduled_at', 'created_at', 'id']::text[] = ARRAY(
      SELECT a.attname::text
      FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
      JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
      WHERE k.position <= 5
      ORDER BY k.position
    )
    AND (
      x.indpred IS NULL
      OR regexp_replace(pg_get_expr(x.indpred, x.indrelid), '::text|::character varying|[()"\s]', '', 'g') IN (
        'consumption=''pull''ANDstate=''pending''',
        'state=''pending''ANDconsumption=''pull'''
      )
    )
) AS by_aggregate
