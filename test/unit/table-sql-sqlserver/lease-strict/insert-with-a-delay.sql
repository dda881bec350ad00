-- insert with a delay: r0c0, r0c1, r0c2, r0c3, r0c4, r0c5, r0c6
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] ON;
BEGIN TRY
INSERT INTO [jobs] ([id], [grp], [due], [att], [pay], [lease], [prio])
SELECT v.c0, v.c1, v.c2, v.c3, v.c4, v.c5, v.c6
FROM (VALUES
  (0, CAST(@p1 AS bigint), CAST(@p2 AS nvarchar(max)), DATEADD(millisecond, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) % 86400000 AS int), DATEADD(day, CAST((CASE WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) > 220903200000000 THEN 220903200000000 WHEN CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) < -63115200000000 THEN -63115200000000 ELSE CAST(CAST(@p3 AS decimal(30, 3)) AS bigint) END) / 86400000 AS int), @now)), CAST(@p4 AS smallint), CAST(@p5 AS nvarchar(max)), CONVERT(datetime2(7), @p6, 126), CAST(@p7 AS int))
) AS v (n, c0, c1, c2, c3, c4, c5, c6)
ORDER BY v.n;
END TRY
BEGIN CATCH
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] OFF;
THROW;
END CATCH;
IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'[jobs]') AND c.is_identity = 1) SET IDENTITY_INSERT [jobs] OFF;
