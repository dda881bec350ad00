/** Rows as people look at them, move them and throw them away. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { RowsSettings } from "../administration.ts";
import { bind } from "../bind.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { lockName } from "./lock-name.ts";
import { isoTime, quoted } from "./sql.ts";
import { lockKey } from "./table-claim.ts";
import { anew, copy, moving, remove } from "./table-dead-letter.ts";
import { assigned, given, isGiven } from "./table-given.ts";
import { all, TableSql } from "./table-names.ts";
import { givenAgain, programOf } from "./table-program.ts";
import { types } from "./types.ts";

/** How much of a payload a list shows, in characters or bytes. */
const previewLength = 400;

export function rowsStatement(table: TableDescription, { order, reason }: RowsSettings): Statement {
  const sql = new TableSql(table);
  const { payload } = table.roles;
  const time = (column: string | undefined) => (column === undefined ? "NULL" : isoTime(column));
  const text = (column: string | undefined) =>
    column === undefined ? "NULL" : `CAST(${column} AS CHAR)`;
  const [start, length] = payload === undefined ? ["NULL", "NULL"] : preview(payload);
  return sql.statement(`SELECT
  CAST(i.${sql.id} AS CHAR) AS id,
  ${text(sql.of("group"))} AS \`group\`,
  ${text(sql.of("attempt"))} AS attempt,
  ${time(sql.of("retryAfter"))} AS due,
  ${time(sql.of("lockedUntil"))} AS leased_until,
  ${text(reason === undefined ? undefined : `i.${quoted(reason.name)}`)} AS reason,
  ${start} AS payload,
  ${length} AS payload_length
FROM ${sql.name} AS i
WHERE ${all(sql.open(), inGroup(sql), behind(sql, order === "ascending" ? ">" : "<"))}
ORDER BY i.${sql.id}${order === "ascending" ? "" : " DESC"}
LIMIT ${sql.param("limit")}`);
}

export function rowStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const values = table.columns
    .map((column, index) => `${shown(column)} AS v${index}`)
    .join(",\n  ");
  return sql.statement(`SELECT
  ${values}
FROM ${sql.byId}
WHERE ${all(`i.${sql.id} = ${sql.idValue()}`, sql.open(), inGroup(sql))}`);
}

export function moveStatement(table: TableDescription, settings: DeadLetterSettings): Statement {
  const [locked, sql, gone] = [idle(table), new TableSql(table), new TableSql(table)];
  if (settings.table !== undefined) {
    return moving(locked, sql.statement(copy(sql, settings.table, settings, false)), remove(gone));
  }
  const moved = sql.statement(`UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned(anew(sql))}`);
  return both(locked, moved);
}

export function removeStatement(table: TableDescription): Statement {
  return both(idle(table), remove(new TableSql(table)));
}

/** What is locked, and then changed. Answers `id` a row. */
function both(locked: Statement, changed: Statement): Statement {
  return programOf([locked, changed], function* (values) {
    const { rows } = yield bind(locked, values);
    if (rows.length > 0) yield bind(changed, givenAgain(values, rows));
    return rows;
  });
}

/** @throws TypeError for a table that keeps no processed rows. */
export function purgeStatement(table: TableDescription): Statement {
  const [sql, gone] = [new TableSql(table), new TableSql(table)];
  const done = sql.of("processedAt");
  if (done === undefined) throw new TypeError(`${table.name} has no column of processed rows`);
  const old = sql.later(`-CAST(${sql.param("olderThanMs")} AS DECIMAL(30, 3))`);
  const found = sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id
FROM ${sql.name} AS i
WHERE ${all(`${done} <= ${old}`, behind(sql, ">"))}
ORDER BY i.${sql.id}
LIMIT ${sql.param("limit")}`);
  const held = new TableSql(table);
  const locked = held.statement(`SELECT CAST(i.${held.id} AS CHAR) AS id
FROM ${given(held)} STRAIGHT_JOIN ${held.byId} ON ${isGiven(held)}
WHERE ${held.of("processedAt")} IS NOT NULL
FOR UPDATE`);
  const removed = remove(gone);
  return programOf([found, locked, removed], function* (values) {
    const old = (yield bind(found, values)).rows;
    if (old.length === 0) return [];
    const { rows } = yield bind(locked, { ...values, ids: old.map(({ id }) => id) });
    if (rows.length > 0) yield bind(removed, { ...values, ids: rows.map(({ id }) => id) });
    return rows;
  });
}

/** The row is in the group `from`, if that is one. */
export function inGroup(sql: TableSql): string[] {
  const { group } = sql.table.roles;
  if (group === undefined) return [];
  return [`(${sql.param("from")} IS NULL OR (${all(sql.isValue(group, "from"))}))`];
}

/** The row stands behind the last one of the page before. */
function behind(sql: TableSql, sign: "<" | ">"): string {
  return `(${sql.param("after")} IS NULL OR i.${sql.id} ${sign} ${sql.idValue("after")})`;
}

/** Of the rows \`ids\` those that nobody works. */
function idle(table: TableDescription): Statement {
  const sql = new TableSql(table);
  return sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
WHERE ${all(sql.open(), sql.free(), inGroup(sql), unlocked(sql))}
FOR UPDATE SKIP LOCKED`);
}

/** No session holds the row's key, in the advisory lock form. */
function unlocked(sql: TableSql): string[] {
  if (sql.table.form !== "advisoryLock") return [];
  return [`IS_FREE_LOCK(${lockName(sql.table, lockKey(sql))}) = 1`];
}

/** The beginning of a payload, and how long it is. */
function preview({ name, type }: ColumnDescription): readonly [start: string, length: string] {
  const column = `i.${quoted(name)}`;
  if (type === "bytes") {
    const bytes = `CAST(${column} AS BINARY)`;
    return [`LOWER(HEX(SUBSTR(${bytes}, 1, ${previewLength})))`, `CAST(LENGTH(${column}) AS CHAR)`];
  }
  const text = types[type].read(column);
  return [`SUBSTR(${text}, 1, ${previewLength})`, `CAST(CHAR_LENGTH(${text}) AS CHAR)`];
}

/** A column as text that nothing has rounded. */
function shown({ name, type }: ColumnDescription): string {
  const column = `i.${quoted(name)}`;
  if (type === "bytes") return `LOWER(HEX(${column}))`;
  return type === "timestamp" ? isoTime(column) : `CAST(${column} AS CHAR)`;
}
