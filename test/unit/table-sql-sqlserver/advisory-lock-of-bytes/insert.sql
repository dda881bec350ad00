-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] ON;
BEGIN TRY
INSERT INTO [jobs] ([id], [key], [pay])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS smallint), CONVERT(varbinary(max), @p2), CAST(@p3 AS nvarchar(max))),
  (1, CAST(@p4 AS smallint), CONVERT(varbinary(max), @p5), CAST(@p6 AS nvarchar(max)))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] OFF;
