-- ids, token
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME();
DECLARE @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SELECT LOWER(CONVERT(varchar(36), mine.[id])) AS [id]
FROM OPENJSON(@p1) WITH ([id] uniqueidentifier '$[0]') AS g
INNER JOIN [inbox] AS mine ON mine.[id] = g.[id]
WHERE mine.[claim_token] = @own
  AND mine.[consumption] = 'pull' AND mine.[state] = N'processing'
  AND EXISTS (
    SELECT 1
    FROM [inbox] AS other
    WHERE other.[source] = mine.[source]
      AND other.[aggregate_id] = mine.[aggregate_id]
      AND other.[consumption] = 'pull' AND other.[state] = N'processing' AND other.[lease_expires_at] > @now
      AND other.[id] <> mine.[id]
      AND (other.[claim_token] <> @own OR (
        other.[scheduled_at] < mine.[scheduled_at]
        OR (other.[scheduled_at] = mine.[scheduled_at] AND other.[created_at] < mine.[created_at])
        OR (other.[scheduled_at] = mine.[scheduled_at] AND other.[created_at] = mine.[created_at]
          AND other.[id] < mine.[id])
      ))
  );
