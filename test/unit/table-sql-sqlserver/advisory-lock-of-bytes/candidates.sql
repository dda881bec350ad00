-- candidates: limit, keys
SET NOCOUNT ON;
DECLARE @limit int = CAST(@p1 AS int);
DECLARE @tried TABLE (name nvarchar(max) NULL);
INSERT INTO @tried (name)
SELECT k.[name] FROM OPENJSON(@p2) WITH ([name] nvarchar(max) '$[0]') AS k;
SELECT TOP (@limit) ranked.named AS id, ranked.lock_key AS [key]
FROM (
  SELECT ahead.*, ROW_NUMBER() OVER (
    PARTITION BY (ahead.lock_key + N'|') COLLATE Latin1_General_BIN2 ORDER BY ahead.id
  ) AS turn
  FROM (
    SELECT TOP (30) each_row.*
    FROM (
      SELECT TOP (30) i.[id] AS id, CONVERT(varchar(20), i.[id]) AS named, COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'') AS lock_key
      FROM [jobs] AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
      WHERE NOT EXISTS (SELECT 1 FROM @tried AS d WHERE (CONVERT(nvarchar(max), COALESCE(LOWER(CONVERT(nvarchar(max), CONVERT(varbinary(max), i.[key]), 2)), N'')) + N'|') COLLATE Latin1_General_BIN2 = d.name + N'|')
      ORDER BY i.[id]
    ) AS each_row
    ORDER BY each_row.id
  ) AS ahead
) AS ranked
WHERE ranked.turn = 1
ORDER BY ranked.id;
