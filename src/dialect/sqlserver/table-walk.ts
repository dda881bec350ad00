/** The groups that a claim of every group looks at. */
import type { ColumnDescription } from "../../table/description.ts";
import type { ClaimSettings, WalkStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { all, type TableSql } from "./table-names.ts";
import { AT_READ_COMMITTED, LOOKING } from "./table-order.ts";
import { types, variableTypes } from "./types.ts";

/** How many groups one claim looks at, where it reads every group. */
const groupsLookedAt = 500;

/**
 * Puts the open groups into `@value`, one after the other, and runs `each` for it: those behind the group that the
 * parameter `after` names, and then those up to it. Where it is null they are all behind it. `@visited` counts them.
 * Groups are compared with the column alone, whose collation decides: that of variables is the database's.
 */
export function walkGroups(sql: TableSql, group: ColumnDescription, each: string): string {
  const column = sql.columnOf(group, "g");
  const after = sql.groupValue(group, "after");
  const next = (...conditions: readonly string[]) => `SELECT TOP (1) @next = ${column}
FROM ${sql.name} AS g ${LOOKING}
WHERE ${all(sql.open("g"), conditions)}
ORDER BY ${column};`;
  const upTo = `${column} <= ${after}`;
  return `DECLARE @next ${variableTypes[group.type]}, @visited int = 0, @wrapped int = 0;
IF ${after} IS NULL
${next(`${column} IS NOT NULL`)}
ELSE
${next(`${column} > ${after}`)}
WHILE @visited < ${groupsLookedAt}
BEGIN
IF @next IS NULL
BEGIN
IF @wrapped = 1 OR ${after} IS NULL BREAK;
SET @wrapped = 1;
${next(upTo)}
IF @next IS NULL BREAK;
END;
SET @value = @next;
SET @visited = @visited + 1;
${each === "" ? "" : `${each}\n`}SET @next = NULL;
IF @wrapped = 0
${next(`${column} > @value`)}
ELSE
${next(`${column} > @value`, upTo)}
END;`;
}

/** What a form runs beside a claim of every group. */
export function walkStatements(sql: TableSql, { groups }: ClaimSettings): WalkStatements {
  const { fifo, roles } = sql.table;
  if (fifo === "none" || groups !== "every" || roles.group === undefined) return {};
  return { walkedTo: walkedTo(sql, roles.group) };
}

/** The group is looked at nowhere but in the index, and a row that others have locked is passed over. */
function walkedTo(sql: TableSql, group: ColumnDescription): Statement {
  const { read } = types[group.type];
  return sql.statement(`${AT_READ_COMMITTED}
DECLARE @value ${variableTypes[group.type]};
${walkGroups(sql, group, "")}
SELECT ${read("@value")} AS [group] WHERE @visited = ${groupsLookedAt};`);
}
