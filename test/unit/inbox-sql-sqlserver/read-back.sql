-- id, token, claimedAt
DECLARE @row uniqueidentifier = CAST(@p1 AS uniqueidentifier), @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @claimed datetime2(7) = CONVERT(datetime2(7), @p3, 126);
SELECT CASE
  WHEN there.[id] IS NULL THEN 'gone'
  WHEN seen.[id] IS NULL THEN 'locked'
  WHEN seen.[consumption] = 'pull' AND seen.[state] = N'processing' AND seen.[claim_token] = @own THEN 'ours'
  WHEN seen.[claimed_at] <> @claimed THEN 'taken'
  WHEN seen.[claimed_at] = @claimed AND seen.[consumption] = 'pull' AND seen.[state] = N'processed' THEN 'completed'
  ELSE 'other'
END AS [outcome]
FROM (SELECT @row AS [id]) AS g
LEFT JOIN [inbox] AS there WITH (NOLOCK) ON there.[id] = g.[id]
LEFT JOIN [inbox] AS seen WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON seen.[id] = g.[id];
