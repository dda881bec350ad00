/** Rows as people look at them, move them and throw them away. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { RowsSettings } from "../administration.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { keyLockName, takeLock } from "./lock-name.ts";
import { quoted } from "./sql.ts";
import { lockKey } from "./table-claim.ts";
import { anew, MOVED, move } from "./table-dead-letter.ts";
import { groupLockName } from "./table-fifo.ts";
import { assigned, forEachGiven, inTransaction } from "./table-given.ts";
import { all, TableSql } from "./table-names.ts";
import { AT_READ_COMMITTED, LOOKING, TAKING } from "./table-order.ts";
import { rowLockName } from "./table-row-lock-name.ts";
import { types, variableTypes } from "./types.ts";

/** How much of a payload a list shows, in characters or bytes. */
const previewLength = 400;

/** Rows that somebody is changing at this moment are left out, and not waited for. */
export function rowsStatement(table: TableDescription, { order, reason }: RowsSettings): Statement {
  const sql = new TableSql(table);
  const { payload, ...roles } = table.roles;
  const text = (column: ColumnDescription | undefined) =>
    column === undefined ? "NULL" : sql.text(column);
  const [start, length] = payload === undefined ? ["NULL", "NULL"] : preview(payload);
  return sql.statement(`${AT_READ_COMMITTED}
SELECT TOP (${sql.limit})
  ${sql.idText()} AS id,
  ${text(roles.group)} AS [group],
  ${text(roles.attempt)} AS attempt,
  ${text(roles.retryAfter)} AS due,
  ${text(roles.lockedUntil)} AS leased_until,
  ${text(reason)} AS reason,
  ${start} AS payload,
  ${length} AS payload_length
FROM ${sql.name} AS i ${LOOKING}
WHERE ${all(sql.open(), inGroup(sql), behind(sql, order === "ascending" ? ">" : "<"))}
ORDER BY i.${sql.id}${order === "ascending" ? "" : " DESC"};`);
}

export function rowStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const values = table.columns
    .map((column, index) => `${shown(column)} AS v${index}`)
    .join(",\n  ");
  const id = sql.variable("id", sql.idType, types[sql.idColumn.type].write(sql.param("id")));
  return sql.statement(`SELECT
  ${values}
FROM ${sql.name} AS i
WHERE ${all(`i.${sql.id} = ${id}`, sql.open(), inGroup(sql))};`);
}

export function moveStatement(table: TableDescription, settings: DeadLetterSettings): Statement {
  const sql = new TableSql(table);
  if (settings.table !== undefined) {
    const moving = { conditions: idle(sql), givesReasons: false, hint: TAKING };
    return forEachIdle(sql, move(sql, settings.table, settings, moving), [MOVED]);
  }
  const each = `UPDATE i
SET ${assigned(anew(sql))}
OUTPUT @n, @named INTO @answer (n, id)
FROM ${sql.name} AS i ${TAKING}
WHERE ${idle(sql)};`;
  return forEachIdle(sql, each);
}

export function removeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const each = `DELETE i
OUTPUT @n, @named INTO @answer (n, id)
FROM ${sql.name} AS i ${TAKING}
WHERE ${idle(sql)};`;
  return forEachIdle(sql, each);
}

/**
 * One DELETE, of rows that are found by their ids: else the optimizer might read the table as a whole. Rows that
 * somebody has locked are passed over.
 *
 * @throws TypeError for a table that keeps no processed rows.
 */
export function purgeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const done = sql.of("processedAt", "o");
  if (done === undefined) throw new TypeError(`${table.name} has no column of processed rows`);
  const before = sql.later(`-CAST(${sql.param("olderThanMs")} AS bigint)`);
  const old = sql.variable("old", "datetime2(7)", before);
  const { limit } = sql;
  return sql.statement(`DECLARE @gone TABLE (id ${sql.idType} NOT NULL);
DELETE i
OUTPUT deleted.${sql.id} INTO @gone (id)
FROM (
  SELECT TOP (${limit}) o.${sql.id} AS id
  FROM ${sql.name} AS o ${LOOKING}
  WHERE ${all(`${done} <= ${old}`, behind(sql, ">", "o"))}
  ORDER BY o.${sql.id}
) AS found
INNER JOIN ${sql.name} AS i ${TAKING} ON i.${sql.id} = found.id
WHERE ${sql.of("processedAt")} <= ${old}
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
SELECT ${types[sql.idColumn.type].read("d.id")} AS id
FROM @gone AS d
ORDER BY d.id;`);
}

/** The row is in the group `from`, if that is one. */
export function inGroup(sql: TableSql): string[] {
  const { group } = sql.table.roles;
  if (group === undefined) return [];
  const { type } = group;
  const from = sql.variable("from", variableTypes[type], types[type].write(sql.param("from")));
  return [`(${from} IS NULL OR (${all(sql.isValue(group, from))}))`];
}

/** The row stands behind the last one of the page before. */
function behind(sql: TableSql, sign: "<" | ">", alias = "i"): string {
  const write = types[sql.idColumn.type].write(sql.param("after"));
  const after = sql.variable("after", sql.idType, write);
  return `(${after} IS NULL OR ${alias}.${sql.id} ${sign} ${after})`;
}

/** The given row is one that nobody works, as far as the row itself says it. */
function idle(sql: TableSql): string {
  return all(`i.${sql.id} = @id`, sql.open(), sql.free(), inGroup(sql));
}

/**
 * Does something with each given row that nobody works. Where a worker holds more than the row, that is locked
 * first, until the transaction ends; a row whose lock somebody has is left alone.
 */
function forEachIdle(sql: TableSql, each: string, begin: readonly string[] = []): Statement {
  const lock = workersLock(sql);
  if (lock === undefined) {
    const statement = forEachGiven(sql, { begin: begin.join("\n"), each });
    return begin.length === 0 ? inTransaction(statement) : inTransaction(statement, () => false);
  }
  const locked = `SELECT @lock = NULL, @granted = -1;
SELECT @lock = ${lock}
FROM ${sql.name} AS i ${LOOKING}
WHERE i.${sql.id} = @id;
IF @lock IS NOT NULL
${takeLock("Transaction")}
IF @granted >= 0
BEGIN
${each}
END;`;
  const declared = [...begin, "DECLARE @lock nvarchar(255), @granted int;"].join("\n");
  return inTransaction(forEachGiven(sql, { begin: declared, each: locked }), () => false);
}

/**
 * The lock that whoever works the row called `i` has: its key's or, in the row lock form, that of its claim. Of a
 * fifo group it is the group's: all of its rows are left alone while one is in work.
 */
function workersLock(sql: TableSql): string | undefined {
  const { fifo, form, roles } = sql.table;
  if (form === "advisoryLock") return keyLockName(lockKey(sql, "i"));
  if (form !== "rowLock") return undefined;
  if (fifo === "none" || roles.group === undefined) return rowLockName(sql, sql.idText());
  return groupLockName(sql, sql.text(roles.group));
}

/** The beginning of a payload, and how long it is. */
function preview({ name, type }: ColumnDescription): readonly [start: string, length: string] {
  const column = types[type].read(`i.${quoted(name)}`);
  if (type === "bytes") {
    return [
      `LOWER(CONVERT(varchar(max), SUBSTRING(${column}, 1, ${previewLength}), 2))`,
      `CONVERT(varchar(20), DATALENGTH(${column}))`,
    ];
  }
  // LEN takes no notice of spaces at the end.
  return [
    `SUBSTRING(${column}, 1, ${previewLength})`,
    `CONVERT(varchar(20), LEN(${column} + N'|') - 1)`,
  ];
}

/** A column as text that nothing has rounded. */
function shown({ name, type }: ColumnDescription): string {
  const column = types[type].read(`i.${quoted(name)}`);
  return type === "bytes" ? `LOWER(CONVERT(varchar(max), ${column}, 2))` : column;
}
