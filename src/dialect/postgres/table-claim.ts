/** What the claims of all forms have in common: whose rows, and what a claimed row looks like. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { literal, quoted } from "./sql.ts";
import type { TableSql } from "./table-names.ts";
import { dueRows, type Ordered, type OrderedRows } from "./table-order.ts";
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
 * The same, asked again of a row that was found by its id: in words that no index answers. Else the planner
 * may look the id up through the group's rows (1,038 pages before 30,000 rows without statistics).
 */
export function stillOfGroup(sql: TableSql, { groups }: ClaimSettings): string[] {
  const group = sql.of("group");
  const column = sql.table.roles.group;
  return groups === "one" && group !== undefined && column !== undefined
    ? [`${group} IS NOT DISTINCT FROM ${sql.groupValue(column)}`]
    : [];
}

/** The rows that can be claimed, in order, as far as the statement's snapshot knows. */
export function claimableRows(
  sql: TableSql,
  settings: ClaimSettings,
  { extra = [], filter = [] }: Pick<Ordered, "extra" | "filter"> = {},
  level?: string,
): OrderedRows {
  const free = sql.free();
  const ordered = {
    conditions: [...ofGroup(sql, settings), ...sql.open()],
    extra: [...free.map((condition) => `${condition} AS free`), ...extra],
    filter: [...free.map(() => "chunk.free"), ...filter],
  };
  return dueRows(sql, ordered, level);
}

/**
 * No more rows than are asked for. The literal, which is no less, is there for the planner: it takes
 * LIMIT $1 for a tenth of the table, and would read all of it to join so many rows.
 */
export function limited(sql: TableSql, { mostRows }: ClaimSettings, query: string): string {
  return `SELECT * FROM (
  ${query}
  LIMIT ${mostRows}
  ) AS most
  LIMIT ${sql.param("limit")}::int`;
}

/** What a claim selects of a row: the row's place is under names of its own beside it. */
export function claimedColumns(sql: TableSql, settings: ClaimSettings): string {
  const { columns } = settings;
  const attempt = sql.of("attempt");
  const group = sql.of("group");
  return [
    `i.${sql.id}::text AS claimed_id`,
    `${sql.token()} AS token`,
    `${attempt === undefined ? "NULL" : attempt}::text AS attempt`,
    `${group === undefined ? "NULL" : group}::text AS claimed_group`,
    `${keyOf(sql)} AS key`,
    ...columns.map((column, index) => `${readColumn(column)} AS c${index}`),
    sql.placed(),
  ].join(",\n    ");
}

/** The rows of `claimed`, as a claim answers them, in order. */
export function answered(
  sql: TableSql,
  { columns }: ClaimSettings,
  extra = "",
  order: string = sql.place("claimed"),
): string {
  const cells = columns.map((_, index) => `, claimed.c${index}`).join("");
  return `SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key${extra}${cells}
FROM claimed
ORDER BY ${order}`;
}

function readColumn(column: ColumnDescription): string {
  return types[column.type].read(`i.${quoted(column.name)}`);
}

/** What rows share that wait for each other, as text. */
function keyOf(sql: TableSql): string {
  const { table } = sql;
  if (table.lockKey !== undefined) return lockKey(table);
  const column = table.fifo === "none" ? sql.of("partitionKey") : sql.of("group");
  return `${column ?? "NULL"}::text`;
}

/** The key of an advisory lock: the same text whatever the session's settings are. */
export function lockKey({ lockKey = [] }: TableDescription): string {
  const parts = lockKey.map((part) => {
    if ("text" in part) return literal(part.text);
    const column = `i.${quoted(part.column.name)}`;
    const text =
      part.column.type === "bytes" ? `encode(${column}, 'hex')` : readColumn(part.column);
    return `coalesce(${text}, '')`;
  });
  return parts.length === 0 ? "''" : `(${parts.join(" || ")})`;
}

/** WITH, and RECURSIVE where a part of it needs that. */
export function withParts(parts: readonly string[]): string {
  const isRecursive = parts.some((part) => /^(\w*level|walk) /.test(part));
  return `WITH ${isRecursive ? "RECURSIVE " : ""}${parts.join(", ")}`;
}
