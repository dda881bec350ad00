-- id, token, claimedAt
DECLARE @row uniqueidentifier = CAST(@p1 AS uniqueidentifier), @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @claimed datetime2(7) = CONVERT(datetime2(7), @p3, 126);
SELECT CASE
  WHEN there.[id$1] IS NULL THEN 'gone'
  WHEN seen.[id$1] IS NULL THEN 'locked'
  WHEN seen.[consumption$1] = 'pull' AND seen.[state$1] = N'processing' AND seen.[claimToken$1] = @own THEN 'ours'
  WHEN seen.[claimedAt$1] <> @claimed THEN 'taken'
  WHEN seen.[claimedAt$1] = @claimed AND seen.[consumption$1] = 'pull' AND seen.[state$1] = N'processed' THEN 'completed'
  ELSE 'other'
END AS [outcome]
FROM (SELECT @row AS [id]) AS g
LEFT JOIN [Messaging].[letters] AS there WITH (NOLOCK) ON there.[id$1] = g.[id]
LEFT JOIN [Messaging].[letters] AS seen WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON seen.[id$1] = g.[id];
