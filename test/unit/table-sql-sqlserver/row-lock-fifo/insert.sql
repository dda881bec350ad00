-- insert: r0c0, r0c1, r0c2, r1c0, r1c1, r1c2
SET NOCOUNT ON;
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[app].[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [app].[jobs] ON;
BEGIN TRY
INSERT INTO [app].[jobs] ([id], [grp], [due])
SELECT v.c0, v.c1, v.c2
FROM (VALUES
  (0, CAST(@p1 AS bigint), CAST(@p2 AS nvarchar(max)), CONVERT(datetime2(7), @p3, 126)),
  (1, CAST(@p4 AS bigint), CAST(@p5 AS nvarchar(max)), CONVERT(datetime2(7), @p6, 126))
) AS v (n, c0, c1, c2)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[app].[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [app].[jobs] OFF;
THROW;
END CATCH;
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[app].[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [app].[jobs] OFF;
