/** How a table stands, group by group, for the command line and for alarms. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { isoTime } from "./sql.ts";
import { inGroup } from "./table-admin.ts";
import { all, TableSql } from "./table-names.ts";

/** Reads the whole table, processed rows too: not for a dashboard that asks each second. */
export function statusStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const { lockedUntil } = table.roles;
  const group = sql.of("group");
  const due = sql.of("retryAfter");
  const lease = sql.of("lockedUntil");
  const done = sql.of("processedAt");
  const held = lease === undefined ? undefined : all(sql.open(), `${lease} > ${sql.now}`);
  // What stands in a lease column that cannot be null says nothing of a row that nobody ever held.
  const expired =
    lease === undefined || lockedUntil?.nullable !== true
      ? undefined
      : all(sql.open(), `${lease} <= ${sql.now}`);
  const isFresh = expired === undefined ? [] : [`${lease} IS NULL`];
  const waiting = all(sql.claimable(), isFresh);
  const future =
    due === undefined ? undefined : all(sql.open(), sql.free(), isFresh, `${due} > ${sql.now}`);
  const oldest = due === undefined ? undefined : `MIN(CASE WHEN ${waiting} THEN ${due} END)`;
  return sql.statement(`SELECT
  ${group === undefined ? "NULL" : `CAST(${group} AS CHAR)`} AS \`group\`,
  ${count(waiting)} AS waiting,
  ${count(future)} AS future,
  ${count(held)} AS in_work,
  ${count(expired)} AS expired,
  ${count(done === undefined ? undefined : `${done} IS NOT NULL`)} AS processed,
  ${oldest === undefined ? "NULL" : isoTime(oldest)} AS oldest_due,
  ${oldest === undefined ? "NULL" : `CAST(FLOOR(TIMESTAMPDIFF(MICROSECOND, ${oldest}, ${sql.now}) / 1000) AS CHAR)`} AS oldest_due_ms
FROM ${sql.name} AS i
WHERE ${all(inGroup(sql))}${group === undefined ? "" : `\nGROUP BY ${group}\nORDER BY ${group}`}
LIMIT ${sql.param("limit")}`);
}

function count(condition: string | undefined): string {
  return condition === undefined
    ? "NULL"
    : `CAST(COUNT(CASE WHEN ${condition} THEN 1 END) AS CHAR)`;
}
