/**
 * What the claims of all forms have in common: whose rows, how they are locked, and what a claimed row looks
 * like.
 *
 * A claim reads the first rows of its order without locking any, and then locks them one by one, by their ids,
 * passing over those that others have locked, until it has as many as it wants. So it locks no row but those it
 * takes, whatever index there is: a locking read of the order itself would lock every row that it passes, and
 * all of them where it has to sort. Rows are looked at again under their locks.
 *
 * How far it reads is a literal. Where all of that is locked by others, it reads once more, much further.
 */
import type { ColumnDescription, Role, TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { ClaimSettings } from "../dialect.ts";
import type { ProgramRun, Statement, Values } from "../statement.ts";
import { literal, timeText } from "./sql.ts";
import { countedAttempt } from "./table-given.ts";
import { all, type TableSql } from "./table-names.ts";
import { dueRows, place } from "./table-order.ts";
import { types } from "./types.ts";

/** The group's rows, or everybody's. */
export function ofGroup(sql: TableSql, { groups }: ClaimSettings, alias = "i"): string[] {
  return groups === "one" ? sql.inGroup(alias) : [];
}

/** The same of a row that was found by its id. */
export function stillOfGroup(sql: TableSql, { groups }: ClaimSettings): string[] {
  return groups === "one" ? sql.stillInGroup() : [];
}

/** How the claim writes the row, where it does. */
export interface Taking {
  /** The claim counts the attempt. */
  readonly counts: boolean;
  /** The lease's new end, of the lease form. */
  readonly leaseEnd?: string;
}

/** Locks the first rows in order, and answers them. */
export function lockRows(
  sql: TableSql,
  settings: ClaimSettings,
  taking: Taking,
  window: number,
): Statement {
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free()];
  const rows = `SELECT due_row.*, ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_row")}) AS turn
  FROM (
    ${dueRows(sql, { conditions }, window)}
  ) AS due_row`;
  return inOrder(
    sql.statement(`SELECT ${claimedColumns(sql, settings, taking)},
  candidate.turn AS turn
FROM (
  ${rows}
  ORDER BY turn
  LIMIT ${window}
) AS candidate STRAIGHT_JOIN ${sql.byId} ON i.${sql.id} = candidate.id
WHERE ${all(stillOfGroup(sql, settings), sql.claimable())}
LIMIT ${sql.param("limit")}
FOR UPDATE SKIP LOCKED`),
  );
}

/** A statement whose answered rows carry their `turn`. */
export function inOrder(statement: Statement): Statement {
  return { ...statement, order: (a, b) => Number(a["turn"]) - Number(b["turn"]) };
}

/** The same, further where the near rows are not enough. */
export interface Reading {
  readonly near: Statement;
  readonly far: Statement;
}

export function reading(
  build: () => TableSql,
  settings: ClaimSettings,
  taking: (sql: TableSql) => Taking,
): Reading {
  const [near, far] = [2 * settings.mostRows + 20, 5_000].map((window) => {
    const sql = build();
    return lockRows(sql, settings, taking(sql), window);
  });
  if (near === undefined || far === undefined) throw new TypeError("a claim has two windows");
  return { near, far };
}

export function* readRows({ far, near }: Reading, values: Values): ProgramRun {
  const { rows } = yield bind(near, values);
  if (rows.length >= Number(values["limit"])) return rows;
  // From the start again: what this transaction has locked it gets again.
  return (yield bind(far, values)).rows;
}

/** The rows as the statement is given them that writes their leases. */
export function stamped(
  values: Values,
  rows: readonly Readonly<Record<string, unknown>>[],
): Values {
  return { ...values, ids: rows.map(({ id }) => id), tokens: rows.map(({ token }) => token) };
}

/** What a claim answers of the row called `i`, as it will be when the claim has written it. */
export function claimedColumns(sql: TableSql, settings: ClaimSettings, taking: Taking): string {
  const { group } = sql.table.roles;
  const attempt = taking.counts ? countedAttempt(sql) : sql.of("attempt");
  // What the claim is about to write is what the row has.
  const written: { readonly [role in Role]?: string | undefined } = {
    attempt,
    lockedUntil: taking.leaseEnd,
  };
  const cells = settings.columns.map((column, index) => {
    const value = (column.role && written[column.role]) ?? sql.columnOf(column);
    return `${types[column.type].read(value)} AS c${index}`;
  });
  return [
    `CAST(i.${sql.id} AS CHAR) AS id`,
    `${taking.leaseEnd === undefined ? "NULL" : timeText(taking.leaseEnd)} AS token`,
    `${attempt === undefined ? "NULL" : `CAST(${attempt} AS CHAR)`} AS attempt`,
    `${group === undefined ? "NULL" : `CAST(${sql.columnOf(group)} AS CHAR)`} AS \`group\``,
    `${keyOf(sql)} AS \`key\``,
    ...cells,
  ].join(",\n  ");
}

/** What rows share that wait for each other, as text. */
function keyOf(sql: TableSql): string {
  const { table } = sql;
  if (table.lockKey !== undefined) return lockKey(sql);
  const column = sql.of(table.fifo === "none" ? "partitionKey" : "group");
  return column === undefined ? "NULL" : `CAST(${column} AS CHAR)`;
}

/** The key of an advisory lock, of the row called `i`. */
export function lockKey(sql: TableSql): string {
  const { lockKey: parts = [] }: TableDescription = sql.table;
  const texts = parts.map((part) =>
    "text" in part ? literal(part.text) : `COALESCE(${keyText(sql, part.column)}, '')`,
  );
  return texts.length === 0 ? "''" : `CONCAT(${texts.join(", ")})`;
}

function keyText(sql: TableSql, column: ColumnDescription): string {
  const name = sql.columnOf(column);
  return column.type === "bytes" ? `LOWER(HEX(${name}))` : `CAST(${name} AS CHAR)`;
}
