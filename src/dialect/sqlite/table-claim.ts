/** What the claims of all forms have in common: whose rows, and what a claimed row looks like. */
import type { TableDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { literal } from "./sql.ts";
import type { TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** The group's rows, or everybody's. */
export function ofGroup(sql: TableSql, { groups }: ClaimSettings, alias = "i"): string[] {
  const group = sql.of("group", alias);
  const column = sql.table.roles.group;
  return groups === "one" && group !== undefined && column !== undefined
    ? [`${group} = ${sql.groupValue(column)}`]
    : [];
}

/**
 * What a claim's RETURNING answers of a row. It comes in no order, so each row carries its place, by which
 * {@link inOrder} sorts.
 */
export function claimedColumns(sql: TableSql, settings: ClaimSettings): string {
  const { attempt, group, priority } = sql.table.roles;
  const cells = settings.columns.map(
    (column, index) => `${types[column.type].read(sql.columnOf(column, ""))} AS c${index}`,
  );
  const text = (column: typeof attempt) =>
    column === undefined ? "NULL" : `CAST(${sql.columnOf(column, "")} AS TEXT)`;
  return [
    `CAST(${sql.id} AS TEXT) AS id`,
    `${sql.column("lockedUntil") ?? "NULL"} AS token`,
    `${text(attempt)} AS attempt`,
    `${text(group)} AS "group"`,
    `${keyOf(sql)} AS key`,
    ...cells,
    ...(priority === undefined ? [] : [`${text(priority)} AS priority`]),
    ...(sql.ordersByDue ? [`${sql.column("retryAfter")} AS due`] : []),
  ].join(",\n  ");
}

/** The statement, whose answered rows are put in claim order. */
export function inOrder(sql: TableSql, statement: Statement): Statement {
  const isNumber = sql.table.roles.id?.type !== "text" && sql.table.roles.id?.type !== "uuid";
  return {
    ...statement,
    order(a, b) {
      return (
        compared(a.priority, b.priority, compareWhole, 1) ||
        compared(a.due, b.due, compareText, -1) ||
        compared(a.id, b.id, isNumber ? compareWhole : compareText, -1)
      );
    },
  };
}

type Compare = (a: string, b: string) => number;

/** `nulls`: 1 where null comes last. What the table does not order by is undefined in all rows. */
function compared(a: unknown, b: unknown, compare: Compare, nulls: 1 | -1): number {
  if (typeof a !== "string") return typeof b === "string" ? nulls : 0;
  return typeof b === "string" ? compare(a, b) : -nulls;
}

function compareWhole(a: string, b: string): number {
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** As SQLite compares text: by its bytes. */
function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** What rows share that wait for each other, as text. */
function keyOf(sql: TableSql): string {
  const { table } = sql;
  if (table.lockKey !== undefined) return lockKey(sql, "");
  const column = sql.of(table.fifo === "none" ? "partitionKey" : "group", "");
  return column === undefined ? "NULL" : `CAST(${column} AS TEXT)`;
}

/**
 * The key of an advisory lock, of the row called `alias`. Drivers would cut text at its first NUL, so such a
 * text stands there by its bytes.
 */
export function lockKey(sql: TableSql, alias: string): string {
  const { lockKey: parts = [] }: TableDescription = sql.table;
  const texts = parts.map((part) => {
    if ("text" in part) return literal(part.text);
    const column = sql.columnOf(part.column, alias);
    const hex = `lower(hex(${column}))`;
    const text =
      part.column.type === "bytes"
        ? hex
        : part.column.type === "text"
          ? `CASE WHEN instr(${column}, char(0)) THEN ${hex} ELSE CAST(${column} AS TEXT) END`
          : `CAST(${column} AS TEXT)`;
    return `coalesce(${text}, '')`;
  });
  return texts.length === 0 ? "''" : `(${texts.join(" || ")})`;
}
