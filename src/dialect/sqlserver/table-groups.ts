/** The groups of a fifo table that a claim tries, in the order of their heads. */
import type { ColumnDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { all, type TableSql } from "./table-names.ts";
import { LOOKING, place, readFirst } from "./table-order.ts";
import { types, variableTypes } from "./types.ts";

/** How many groups one claim looks at, where it reads every group. */
export const groupsLookedAt = 500;

/**
 * Fills `@queue (turn, value, named)`, and `@found` with how many there are. Declares `@value`, a group, and `@id`.
 *
 * All groups at once are a walk from group to group, one probe each, which starts at the group of a row near an id
 * chosen at random, so that each has its turn where there are more than one claim looks at. Where a collation
 * takes two names for one, their rows are one order here, and each head is claimed as the group that it names.
 */
export function findGroups(
  sql: TableSql,
  settings: ClaimSettings,
  group: ColumnDescription,
): string {
  const type = variableTypes[group.type];
  const queue = `DECLARE @queue TABLE (turn int NOT NULL PRIMARY KEY, value ${type} NOT NULL, named nvarchar(4000) NOT NULL);
DECLARE @value ${type}, @found int, @id ${sql.idType};`;
  if (settings.groups === "one") {
    const value = sql.groupValue(group);
    return `${queue}
INSERT INTO @queue (turn, value, named)
SELECT 1, ${value}, ${types[group.type].read(value)} WHERE ${value} IS NOT NULL;
SET @found = (SELECT COUNT(*) FROM @queue);`;
  }
  return `${queue}
${walk(sql, group, type)}
INSERT INTO @queue (turn, value, named)
SELECT ROW_NUMBER() OVER (ORDER BY ${place(sql, "head")}), head.value, head.named
FROM @head AS head;
SET @found = (SELECT COUNT(*) FROM @queue);`;
}

/** From the group of some row to the last one, and then from the first one to there. */
function walk(sql: TableSql, group: ColumnDescription, type: string): string {
  const column = sql.of("group", "g") ?? "";
  const { priority, retryAfter } = sql.table.roles;
  const placed = [
    ...(priority === undefined ? [] : [{ name: "priority", type: "bigint", column: priority }]),
    ...(sql.ordersByDue && retryAfter !== undefined
      ? [{ name: "due", type: "datetime2(7)", column: retryAfter }]
      : []),
  ];
  const variables = placed.map((part) => `, @${part.name} ${part.type}`).join("");
  const columns = placed.map((part) => `${part.name} ${part.type} NULL, `).join("");
  const names = placed.map(({ name }) => `${name}, `).join("");
  const values = placed.map(({ name }) => `@${name}, `).join("");
  const isReady = all(sql.due("h"), sql.free("h"));
  const wanted = [
    `@id = h.${sql.id}`,
    `@head_group = ${sql.of("group", "h")}`,
    `@head_named = ${sql.text(group, "h")}`,
    `@ready = CASE WHEN ${isReady} THEN 1 ELSE 0 END`,
    ...placed.map((part) => `@${part.name} = ${sql.columnOf(part.column, "h")}`),
  ];
  // Of a group by what the collation says: the walk knows no other.
  const head = readFirst(sql, [`${sql.of("group", "h")} = @value`, ...sql.open("h")], wanted);
  const next = (sign: string, ...more: readonly string[]) => `SET @next = NULL;
SELECT TOP (1) @next = ${column}
FROM ${sql.name} AS g ${LOOKING}
WHERE ${all(sql.open("g"), `${column} ${sign}`, more)}
ORDER BY ${column};`;
  return `DECLARE @head TABLE (n int NOT NULL PRIMARY KEY, value ${type} NOT NULL, named nvarchar(4000) NOT NULL, ${columns}id ${sql.idType} NOT NULL);
DECLARE @start ${type}, @next ${type}, @head_group ${type}, @head_named nvarchar(4000), @ready int, @visited int = 0, @wrapped int = 0${variables};
${someGroup(sql, column)}
${next("IS NOT NULL", `(@start IS NULL OR ${column} >= @start)`)}
WHILE @visited < ${groupsLookedAt}
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR @start IS NULL BREAK;
SET @wrapped = 1;
${next("< @start")}
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
BEGIN TRY
${head}
IF @id IS NOT NULL AND @ready = 1
INSERT INTO @head (n, value, named, ${names}id) VALUES (@visited, @head_group, @head_named, ${values}@id);
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
${next("> @value", `(@wrapped = 0 OR ${column} < @start)`)}
END;`;
}

/** Puts the group of an open row whose id is the first behind one chosen at random into `@start`; else of any. */
function someGroup(sql: TableSql, column: string): string {
  const { idColumn } = sql;
  const some = (...conditions: readonly string[]) => `SELECT TOP (1) @start = ${column}
FROM ${sql.name} AS g ${LOOKING}
WHERE ${all(sql.open("g"), `${column} IS NOT NULL`, conditions)}
ORDER BY g.${sql.id};`;
  const pivot = pivotOf(sql, idColumn);
  return `DECLARE @pivot ${sql.idType} = ${pivot};
${some(`g.${sql.id} >= @pivot`)}
IF @start IS NULL
${some()}`;
}

function pivotOf(sql: TableSql, { type }: ColumnDescription): string {
  if (type === "uuid") return "NEWID()";
  if (type === "text") return "CONVERT(nvarchar(36), NEWID())";
  const share = `CAST(${sql.param("pivot")} AS decimal(16, 15))`;
  const wide = (expression: string) => `CAST(${expression} AS decimal(38, 0))`;
  return `(SELECT CAST(FLOOR(${wide(`MIN(m.${sql.id})`)} + ${share} * (${wide(`MAX(m.${sql.id})`)} - ${wide(`MIN(m.${sql.id})`)})) AS ${sql.idType}) FROM ${sql.name} AS m ${LOOKING})`;
}
