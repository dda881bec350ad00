EXEC sys.sp_describe_first_result_set @tsql = N'SELECT CONCAT(
  N''the database '', d.name, N'' has the compatibility level '', d.compatibility_level, N''; it takes 130 or higher (SQL Server 2016): ALTER DATABASE '',
  QUOTENAME(d.name), N'' SET COMPATIBILITY_LEVEL = 130''
) AS [unmet]
FROM sys.databases AS d
WHERE d.database_id = DB_ID() AND d.compatibility_level < 130 AND SERVERPROPERTY(N''Babelfish'') IS NULL;';
