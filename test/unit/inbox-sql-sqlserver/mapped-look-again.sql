-- ids, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SELECT LOWER(CONVERT(varchar(36), mine.[id$1])) AS [id]
FROM OPENJSON(@p1) WITH ([id] uniqueidentifier '$[0]') AS g
INNER JOIN [Messaging].[letters] AS mine ON mine.[id$1] = g.[id]
WHERE mine.[claimToken$1] = @own
  AND mine.[consumption$1] = 'pull' AND mine.[state$1] = N'processing'
  AND EXISTS (
    SELECT 1
    FROM [Messaging].[letters] AS other
    WHERE other.[source$1] = mine.[source$1]
      AND other.[aggregateId$1] = mine.[aggregateId$1]
      AND other.[consumption$1] = 'pull' AND other.[state$1] = N'processing' AND other.[leaseExpiresAt$1] > @now
      AND other.[id$1] <> mine.[id$1]
      AND (other.[claimToken$1] <> @own OR (
        other.[scheduledAt$1] < mine.[scheduledAt$1]
        OR (other.[scheduledAt$1] = mine.[scheduledAt$1] AND other.[createdAt$1] < mine.[createdAt$1])
        OR (other.[scheduledAt$1] = mine.[scheduledAt$1] AND other.[createdAt$1] = mine.[createdAt$1]
          AND other.[id$1] < mine.[id$1])
      ))
  );
