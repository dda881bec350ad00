/** Rows as people look at them, move them and throw them away. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { RowsSettings } from "../administration.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { isoTime, milliseconds, quoted } from "./sql.ts";
import { lockKey } from "./table-claim.ts";
import { toTable } from "./table-dead-letter.ts";
import { type Change, type HeldOptions, unleased, update } from "./table-held.ts";
import { all, TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** How much of a payload a list shows, in characters or bytes. */
const previewLength = 400;

export function rowsStatement(table: TableDescription, { order, reason }: RowsSettings): Statement {
  const sql = new TableSql(table);
  const { payload } = table.roles;
  const time = (column: string | undefined) =>
    column === undefined ? "NULL::text" : isoTime(`${column}::timestamptz`);
  const text = (column: string | undefined) =>
    column === undefined ? "NULL::text" : `${column}::text`;
  const [start, length] = payload === undefined ? ["NULL::text", "NULL::text"] : preview(payload);
  return sql.statement(`SELECT
  i.${sql.id}::text AS id,
  ${text(sql.of("group"))} AS "group",
  ${text(sql.of("attempt"))} AS attempt,
  ${time(sql.of("retryAfter"))} AS due,
  ${time(sql.of("lockedUntil"))} AS leased_until,
  ${text(reason === undefined ? undefined : `i.${quoted(reason.name)}`)} AS reason,
  ${start} AS payload,
  ${length} AS payload_length
FROM ${sql.name} AS i
WHERE ${all(sql.open(), inGroup(sql), behind(sql, order === "ascending" ? ">" : "<"))}
ORDER BY i.${sql.id}${order === "ascending" ? "" : " DESC"}
LIMIT ${sql.param("limit")}::int`);
}

export function rowStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const values = table.columns
    .map((column, index) => `${shown(column)} AS v${index}`)
    .join(",\n  ");
  return sql.statement(`SELECT
  ${values}
FROM ${sql.name} AS i
WHERE ${all(`i.${sql.id} = ${sql.param("id")}::text::${sql.idType}`, sql.open(), inGroup(sql))}`);
}

export function moveStatement(table: TableDescription, settings: DeadLetterSettings): Statement {
  const sql = new TableSql(table);
  if (settings.table !== undefined) {
    return sql.statement(toTable(sql, settings.table, settings, idle(sql, "UPDATE")));
  }
  return sql.statement(`${idle(sql, "NO KEY UPDATE")}\n${update(sql, anew(sql))}`);
}

/** What starts anew in a row that goes to another group of its table. */
function anew(sql: TableSql): Change[] {
  const { attemptFrom, roles } = sql.table;
  const changes: Change[] = [];
  const { attempt, group, retryAfter } = roles;
  if (group !== undefined) {
    const value = types[group.type].write(sql.param("group"));
    changes.push({ column: quoted(group.name), value });
  }
  if (attempt !== undefined) {
    changes.push({ column: quoted(attempt.name), value: String(attemptFrom) });
  }
  if (retryAfter !== undefined) {
    const value = retryAfter.nullable ? "NULL" : sql.clock;
    changes.push({ column: quoted(retryAfter.name), value });
  }
  return [...changes, ...unleased(sql)];
}

export function removeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  return sql.statement(`${idle(sql, "UPDATE")}
DELETE FROM ${sql.name} AS i
USING locked
WHERE i.${sql.id} = locked.id
RETURNING i.${sql.id}::text AS id`);
}

/** @throws TypeError for a table that keeps no processed rows. */
export function purgeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const done = sql.of("processedAt");
  if (done === undefined) throw new TypeError(`${table.name} has no column of processed rows`);
  const age = milliseconds(sql.param("olderThanMs"));
  return sql.statement(`WITH old AS (
  SELECT i.${sql.id} AS id
  FROM ${sql.name} AS i
  WHERE ${all(`${done} <= ${sql.clock} - ${age}`, behind(sql, ">"))}
  ORDER BY i.${sql.id}
  LIMIT ${sql.param("limit")}::int
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM ${sql.name} AS i
  USING old
  WHERE i.${sql.id} = old.id
  RETURNING i.${sql.id} AS id
)
SELECT gone.id::text AS id FROM gone ORDER BY gone.id`);
}

/** The row is in the group `from`, if that is one. */
export function inGroup(sql: TableSql): string[] {
  const { group } = sql.table.roles;
  const column = sql.of("group");
  if (group === undefined || column === undefined) return [];
  const from = sql.param("from");
  return [`(${from}::text IS NULL OR ${column} = ${types[group.type].write(from)})`];
}

/** The row stands behind the last one of the page before. */
function behind(sql: TableSql, sign: "<" | ">"): string {
  const after = sql.param("after");
  return `(${after}::text IS NULL OR i.${sql.id} ${sign} ${after}::text::${sql.idType})`;
}

/** `locked`: of the rows `ids` those that can be had; rows in work are left alone, not waited for. */
function idle(sql: TableSql, lock: NonNullable<HeldOptions["lock"]>): string {
  return `WITH locked AS (
  SELECT i.${sql.id} AS id
  FROM ${sql.name} AS i
  WHERE ${all(
    `i.${sql.id} = ANY (${sql.param("ids")}::text::${sql.idType}[])`,
    sql.open(),
    sql.free(),
    unlocked(sql),
    inGroup(sql),
  )}
  ORDER BY i.${sql.id}
  FOR ${lock} SKIP LOCKED
)`;
}

/** No session holds the row's key, in the advisory lock form. */
function unlocked(sql: TableSql): string[] {
  if (sql.table.form !== "advisoryLock") return [];
  return [
    `${sql.hash(lockKey(sql.table), 0)} NOT IN (
    SELECT ((l.classid::bigint << 32) | l.objid::bigint)
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  )`,
  ];
}

/** The beginning of a payload, and how long it is. */
function preview({ name, type }: ColumnDescription): readonly [start: string, length: string] {
  const column = `i.${quoted(name)}`;
  if (type === "bytes") {
    return [
      `encode(substring(${column} FROM 1 FOR ${previewLength}), 'hex')`,
      `octet_length(${column})::text`,
    ];
  }
  return [`left(${column}::text, ${previewLength})`, `length(${column}::text)::text`];
}

/** A column as text that nothing has rounded. */
function shown({ name, type }: ColumnDescription): string {
  const column = `i.${quoted(name)}`;
  if (type === "bytes") return `encode(${column}, 'hex')`;
  return type === "timestamp" ? isoTime(`${column}::timestamptz`) : `${column}::text`;
}
