-- insert of defaults: 
DECLARE @made TABLE (id bigint NOT NULL);
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
INSERT INTO [jobs]
OUTPUT inserted.[id] INTO @made (id)
DEFAULT VALUES;
SELECT CONVERT(varchar(20), m.id) AS id
FROM @made AS m
ORDER BY m.id;
