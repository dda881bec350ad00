/** How SQL Server's statements are spelled: names, texts, times, lists. */
import { describe, expect, test } from "vitest";
import {
  later,
  listed,
  listText,
  literal,
  placeholder,
  quoted,
  sqlTime,
  valuesText,
} from "../../src/dialect/sqlserver/sql.ts";
import { emptySqlite } from "../support/sqlite.ts";
import { tsqlFaults } from "../support/tsql.ts";

test("names stand in brackets, texts in N'...', whatever is in them", () => {
  expect(quoted("a]b[c")).toBe("[a]]b[c]");
  expect(literal("it's Ω")).toBe("N'it''s Ω'");
  expect(placeholder(3)).toBe("@p3");
  const text = `SELECT ${literal("a'; DROP TABLE b --")} AS ${quoted("x] AS y, [z")};`;
  expect(tsqlFaults(text, 0)).toEqual([]);
});

test("a time of JavaScript has no zone there", () => {
  expect(sqlTime("2026-01-02T03:04:05.678Z")).toBe("2026-01-02T03:04:05.678");
});

test("lists are rows of JSON, taken apart by their columns", () => {
  expect(listText([["a", 1, null]])).toBe('[["a",1,null]]');
  expect(valuesText(["a", null])).toBe('[["a"],[null]]');
  const source = listed("@p1", "g", [
    ["id", "bigint"],
    ["n]", "nvarchar(max)"],
  ]);
  expect(source).toBe("OPENJSON(@p1) WITH ([id] bigint '$[0]', [n]]] nvarchar(max) '$[1]') AS g");
  expect(tsqlFaults(`SELECT g.[id], g.[n]]] FROM ${source};`, 1)).toEqual([]);
});

describe("milliseconds after a time", () => {
  const MS_OF_7000_YEARS = 220_903_200_000_000n;
  const DAY = 86_400_000n;

  test("is an expression of T-SQL", () => {
    expect(tsqlFaults(`SELECT ${later("SYSUTCDATETIME()", "@p1")} AS at;`, 1)).toEqual([]);
  });

  // Whole numbers are divided and cut in SQLite as they are in T-SQL: towards zero.
  test.each([
    [0n, 0n],
    [1n, 1n],
    [DAY - 1n, DAY - 1n],
    [DAY, DAY],
    [2n ** 31n, 2n ** 31n],
    [8_640_000_000_001n, 8_640_000_000_001n],
    [MS_OF_7000_YEARS, MS_OF_7000_YEARS],
    [MS_OF_7000_YEARS + 1n, MS_OF_7000_YEARS],
    [2n ** 63n - 1n, MS_OF_7000_YEARS],
    [-1n, -1n],
    [-(2n ** 40n), -(2n ** 40n)],
    [-(2n ** 63n) + 1n, -63_115_200_000_000n],
  ])("of %s ms: days and the rest of a day that make %s ms, each an int", async (ms, counts) => {
    const found = /^DATEADD\(millisecond, (.*), DATEADD\(day, (.*), base\)\)$/.exec(
      later("base", String(ms)),
    );
    const source = await emptySqlite();
    const connection = await source.connect();
    const { rows } = await connection.query<{ rest: unknown; days: unknown }>(
      `SELECT CAST(${found?.[1]} AS text) AS rest, CAST(${found?.[2]} AS text) AS days`,
    );
    await connection.release();
    const rest = BigInt(String(rows[0]?.rest));
    const days = BigInt(String(rows[0]?.days));
    expect(days * DAY + rest).toBe(counts);
    expect(BigInt.asIntN(32, rest)).toBe(rest);
    expect(BigInt.asIntN(32, days)).toBe(days);
  });
});
