/** What test/support/tsql.ts lets through, and what it does not. */
import { describe, expect, test } from "vitest";
import { tsqlFaults } from "../support/tsql.ts";

describe("a batch of T-SQL has no faults", () => {
  test.each(
    Object.entries({
      "a lock, and an error of its own": `DECLARE @lock nvarchar(255) = N'a', @got int;
EXEC @got = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 10000;
IF @got < 0 THROW 51000, N'no lock', 1;`,
      "hints, TOP with an expression, an order": `SELECT TOP (CAST(@p1 AS int)) i.[id] FROM [app].[inbox] AS i WITH (UPDLOCK, READPAST, ROWLOCK) WHERE i.[source] = @p2 ORDER BY i.[id];`,
      "an UPDATE by an alias, its OUTPUT into a variable": `DECLARE @taken TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [was] bit NULL);
UPDATE i SET [state] = N'processing' OUTPUT inserted.[id], 1 INTO @taken ([id], [was])
FROM [inbox] AS i INNER JOIN OPENJSON(@p1) WITH ([id] uniqueidentifier '$[0]') AS g ON g.[id] = i.[id]
WHERE i.[id] = @p2;
SELECT LOWER(CONVERT(varchar(36), t.[id])) AS [id], @@ROWCOUNT AS [n] FROM @taken AS t;`,
      "a query of a CTE, windows": `WITH x AS (SELECT 1 AS n), y (m) AS (SELECT n FROM x)
SELECT TOP (1) y.m, ROW_NUMBER() OVER (PARTITION BY y.m ORDER BY y.m) AS r FROM y CROSS JOIN (SELECT TOP (1) @p1 + @p2 AS z) AS w;`,
      "an UPDATE of a table beside a CTE": `WITH x AS (SELECT [id] FROM [t])
UPDATE i SET [n] = @p1 + @p2 FROM [t] AS i INNER JOIN x ON x.[id] = i.[id];`,
      "foreign words inside texts and names": `SELECT N'LIMIT $1 :: \` || merge' AS [limit], @p1 AS [returning], @p2 AS [waitfor];`,
      "a loop and a branch": `DECLARE @n int = 0;
WHILE @n < @p1 BEGIN SET @n = @n + 1; IF @n = @p2 BREAK; END
SELECT @n AS n;`,
      "a table and an index if they are not there": `IF OBJECT_ID(N'[inbox]', N'U') IS NULL
CREATE TABLE [inbox] ([id] uniqueidentifier NOT NULL DEFAULT NEWID(), CONSTRAINT [pk] PRIMARY KEY ([id]), [at] datetime2 NOT NULL DEFAULT (SYSUTCDATETIME()));
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'x' AND object_id = OBJECT_ID(N'[inbox]'))
CREATE INDEX [x] ON [inbox] ([id], [at]) WHERE [id] = @p1 AND [at] = @p2;`,
    }),
  )("%s", (_what, text) => {
    const params = text.includes("@p2") ? 2 : text.includes("@p1") ? 1 : 0;
    expect(tsqlFaults(text, params)).toEqual([]);
  });
});

describe("a fault is found", () => {
  test.each([
    ["SELECT 1 FROM", /line 1/],
    ["SELECT (1 AS n", /line 1/],
    ["UPDATE SET a = 1", /line 1/],
    ["SELECT TOP 1 a FROM t WHERE a = ;", /line 1/],
    ["THROW 51000, N'x';", /line 1/],
    ["utter nonsense", /is no statement/],
    ["SELECT 1; do something", /is no statement/],
    ["DECLARE @a int = 1; selct a FROM t", /line 1/],
    ["SELECT a FROM t LIMIT 1", /LIMIT is no T-SQL/],
    ["DELETE FROM t RETURNING id", /RETURNING is no T-SQL/],
    ["SELECT a::text FROM t", /: is no T-SQL/],
    ["SELECT a FROM t WHERE b = $1", /\$1, a parameter, is no T-SQL/],
    ["SELECT a FROM t WHERE b = :source", /: is no T-SQL/],
    ["SELECT `a` FROM t", /token recognition error at: '`'/],
    ["SELECT a || b FROM t", /\|\| is no T-SQL/],
    ["SELECT a FROM t WHERE b = TRUE", /TRUE is no T-SQL/],
    ["SELECT now() AS a", /now\(\) is no T-SQL/],
    ["SELECT a FROM t CROSS JOIN LATERAL (SELECT 1 AS b) AS x", /LATERAL is no T-SQL/],
    ["WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT a FROM x", /MATERIALIZED is no T-SQL/],
    ["MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1;", /MERGE is not used/],
    ["WAITFOR DELAY '00:00:01';", /WAITFOR is not used/],
    ["CREATE OR ALTER VIEW v AS SELECT 1 AS a", /CREATE OR ALTER is not used/],
    ["SELECT a FROM t CROSS APPLY (SELECT 1 AS b) AS x", /APPLY is not used/],
    ["SELECT APPLOCK_TEST(N'public', N'a', N'Exclusive', N'Session') AS a", /APPLOCK_TEST is not/],
    [
      "DECLARE @a TABLE (a int, b int); UPDATE i SET a = 1 OUTPUT inserted.a, s.b INTO @a (a, b) FROM t AS i INNER JOIN s ON s.a = i.a;",
      /OUTPUT says something of s/,
    ],
    ["WHILE 1 = 1 BEGIN DECLARE @a TABLE (a int); BREAK; END;", /within BEGIN/],
    ["BEGIN TRANSACTION; SELECT 1 AS a;", /the driver begins/],
    ["SELECT 1 AS a; COMMIT;", /the driver ends/],
    ["IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;", /the driver ends/],
    ["SELECT 'Ω' AS a", /no N'/],
    [
      "WITH x AS (SELECT TOP (1) a, b FROM t ORDER BY a) UPDATE x SET b = 1;",
      /UPDATE of the CTE x/,
    ],
    ["WITH x AS (SELECT a FROM t) DELETE FROM x;", /DELETE of the CTE x/],
    [
      "WITH w AS (SELECT 1 AS n), [x] AS (SELECT a FROM t) DELETE TOP (3) FROM X;",
      /DELETE of the CTE/,
    ],
    ["WITH x AS (SELECT a, b FROM t) UPDATE u SET b = 1 FROM x AS u;", /UPDATE of the CTE x/],
    ["DECLARE @p1 int = 1; SELECT @p1 AS a;", /@p1 is declared, and is a parameter's name/],
    ["DECLARE @a int = 1, @P2 int; SELECT @a AS a;", /@P2 is declared, and is a parameter's name/],
    ["DECLARE @a int; DECLARE @A int;", /@A is declared twice/],
  ])("%s", (text, fault) => {
    const faults = tsqlFaults(text);
    expect(faults.join("\n")).toMatch(fault);
  });

  test("in the parameters", () => {
    expect(tsqlFaults("SELECT @p1 AS a;", 2)).toEqual(["@p2 is not used"]);
    expect(tsqlFaults("SELECT @p1 + @p3 AS a;", 1)).toEqual([
      "@p3 is no parameter and is not declared",
    ]);
    expect(tsqlFaults("DECLARE @a int; SELECT @a + @b AS a;", 0)).toEqual([
      "@b is no parameter and is not declared",
    ]);
  });
});
