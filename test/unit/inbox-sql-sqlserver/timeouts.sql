-- 
SELECT N'' AS [name], 0 AS [ms] WHERE 1 = 0;
