/** What the claims of all forms have in common: whose rows, and what a claimed row looks like. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { literal, quoted } from "./sql.ts";
import type { TableSql } from "./table-names.ts";
import { dueRows, type OrderedRows } from "./table-order.ts";
import { types } from "./types.ts";

/** The group's rows, or everybody's. */
export function ofGroup(sql: TableSql, { groups }: ClaimSettings, alias = "i"): string[] {
  const group = sql.of("group", alias);
  return groups === "one" && group !== undefined ? [`${group} = ${sql.param("group")}::text`] : [];
}

/** The rows that can be claimed, in order, as far as the statement's snapshot knows. */
export function claimableRows(
  sql: TableSql,
  settings: ClaimSettings,
  extra: readonly string[] = [],
  conditions: readonly string[] = [],
): OrderedRows {
  return dueRows(sql, {
    conditions: [...ofGroup(sql, settings), ...sql.open(), ...sql.free(), ...conditions],
    extra,
  });
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
export function answered(sql: TableSql, { columns }: ClaimSettings, extra = ""): string {
  const cells = columns.map((_, index) => `, claimed.c${index}`).join("");
  return `SELECT claimed.claimed_id AS id, claimed.token, claimed.attempt, claimed.claimed_group AS "group", claimed.key${extra}${cells}
FROM claimed
ORDER BY ${sql.place("claimed")}`;
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
    const text = part.column.type === "bytes" ? `encode(${column}, 'hex')` : readText(part.column);
    return `coalesce(${text}, '')`;
  });
  return parts.length === 0 ? "''" : `(${parts.join(" || ")})`;
}

function readText(column: ColumnDescription): string {
  const read = readColumn(column);
  return read.endsWith("::text") ? read : `${read}::text`;
}

/** WITH, and RECURSIVE where a part of it needs that. */
export function withParts(parts: readonly string[]): string {
  const isRecursive = parts.some((part) => part.startsWith("level ") || part.startsWith("walk "));
  return `WITH ${isRecursive ? "RECURSIVE " : ""}${parts.join(", ")}`;
}
