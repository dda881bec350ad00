/** How a table stands, group by group, for the command line and for alarms. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { inGroup } from "./table-admin.ts";
import { all, TableSql } from "./table-names.ts";
import { AT_READ_COMMITTED, LOOKING } from "./table-order.ts";
import { types } from "./types.ts";

/** Reads the whole table, processed rows too: not for a dashboard that asks each second. Waits for no row. */
export function statusStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const { group: column, lockedUntil } = table.roles;
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
  return sql.statement(`${AT_READ_COMMITTED}
SELECT TOP (${sql.limit})
  ${column === undefined || group === undefined ? "NULL" : types[column.type].read(group)} AS [group],
  ${count(waiting)} AS waiting,
  ${count(future)} AS future,
  ${count(held)} AS in_work,
  ${count(expired)} AS expired,
  ${count(done === undefined ? undefined : `${done} IS NOT NULL`)} AS processed,
  ${oldest === undefined ? "NULL" : types.timestamp.read(oldest)} AS oldest_due,
  ${oldest === undefined ? "NULL" : `CONVERT(varchar(20), DATEDIFF_BIG(millisecond, ${oldest}, ${sql.now}))`} AS oldest_due_ms
FROM ${sql.name} AS i ${LOOKING}
WHERE ${all(inGroup(sql))}${group === undefined ? "" : `\nGROUP BY ${group}\nORDER BY ${group}`};`);
}

function count(condition: string | undefined): string {
  return condition === undefined
    ? "NULL"
    : `CONVERT(varchar(20), COUNT_BIG(CASE WHEN ${condition} THEN 1 END))`;
}
