/** Rows as people look at them, move them and throw them away. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { RowsSettings } from "../administration.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { quoted } from "./sql.ts";
import { lockKey } from "./table-claim.ts";
import { anew, copy } from "./table-dead-letter.ts";
import { all, cast, TableSql } from "./table-names.ts";

/** How much of a payload a list shows, in characters or bytes. */
const previewLength = 400;

export function rowsStatement(table: TableDescription, { order, reason }: RowsSettings): Statement {
  const sql = new TableSql(table);
  const { payload } = table.roles;
  const text = (column: string | undefined) =>
    column === undefined ? "NULL" : `CAST(${column} AS TEXT)`;
  const [start, length] = payload === undefined ? ["NULL", "NULL"] : preview(payload);
  return sql.statement(`SELECT
  CAST(i.${sql.id} AS TEXT) AS id,
  ${text(sql.of("group"))} AS "group",
  ${text(sql.of("attempt"))} AS attempt,
  ${text(sql.of("retryAfter"))} AS due,
  ${text(sql.of("lockedUntil"))} AS leased_until,
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
FROM ${sql.name} AS i
WHERE ${all(`i.${sql.id} = ${idValue(sql, sql.param("id"))}`, sql.open(), inGroup(sql))}`);
}

export function moveStatement(table: TableDescription, settings: DeadLetterSettings): Statement {
  const sql = new TableSql(table);
  if (settings.table === undefined) {
    const changes = anew(sql).map(({ column, value }) => `${column} = ${value}`);
    return sql.statement(`UPDATE ${sql.name} AS i
SET ${changes.join(",\n    ")}
WHERE i.${sql.id} IN (${idle(sql)})
RETURNING CAST(${sql.id} AS TEXT) AS id`);
  }
  const from = `FROM ${sql.name} AS i\nWHERE i.${sql.id} IN (${idle(sql)})`;
  const copying = sql.statement(copy(sql, settings.table, settings, "", from));
  return { ...removeStatement(table), before: [copying] };
}

export function removeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  return sql.statement(`DELETE FROM ${sql.name}
WHERE ${sql.id} IN (${idle(sql)})
RETURNING CAST(${sql.id} AS TEXT) AS id`);
}

export function keysStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  return sql.statement(`SELECT CAST(i.${sql.id} AS TEXT) AS id, ${lockKey(sql, "i")} AS key
FROM json_each(${sql.param("ids")}) AS g JOIN ${sql.name} AS i ON i.${sql.id} = ${idValue(sql, "g.value")}`);
}

/** @throws TypeError for a table that keeps no processed rows. */
export function purgeStatement(table: TableDescription): Statement {
  const sql = new TableSql(table);
  const done = sql.of("processedAt");
  if (done === undefined) throw new TypeError(`${table.name} has no column of processed rows`);
  const old = sql.later(`-${sql.param("olderThanMs")}`);
  const statement = sql.statement(`DELETE FROM ${sql.name}
WHERE ${sql.id} IN (
  SELECT i.${sql.id}
  FROM ${sql.name} AS i
  WHERE ${all(`${done} <= ${old}`, behind(sql, ">"))}
  ORDER BY i.${sql.id}
  LIMIT ${sql.param("limit")}
)
RETURNING CAST(${sql.id} AS TEXT) AS id`);
  // The last one is where the next chunk goes on.
  return { ...statement, order: (a, b) => byId(table, a.id, b.id) };
}

function byId(table: TableDescription, a: unknown, b: unknown): number {
  const [x, y] = [String(a), String(b)];
  const type = table.roles.id?.type;
  if (type === "text" || type === "uuid") return Buffer.compare(Buffer.from(x), Buffer.from(y));
  return BigInt(x) < BigInt(y) ? -1 : 1;
}

/** The row is in the group `from`, if that is one. */
export function inGroup(sql: TableSql): string[] {
  const { group } = sql.table.roles;
  if (group === undefined) return [];
  const from = sql.param("from");
  return [`(${from} IS NULL OR ${sql.columnOf(group)} = ${cast(from, group)})`];
}

/** The row stands behind the last one of the page before. */
function behind(sql: TableSql, sign: "<" | ">"): string {
  const after = sql.param("after");
  return `(${after} IS NULL OR i.${sql.id} ${sign} ${idValue(sql, after)})`;
}

function idValue({ table: { roles } }: TableSql, text: string): string {
  return roles.id === undefined ? text : cast(text, roles.id);
}

/** Of the rows `ids` those that nobody works. */
function idle(sql: TableSql): string {
  return `
  SELECT i.${sql.id}
  FROM json_each(${sql.param("ids")}) AS g JOIN ${sql.name} AS i ON i.${sql.id} = ${idValue(sql, "g.value")}
  WHERE ${all(sql.open(), sql.free(), inGroup(sql))}
`;
}

/** The beginning of a payload, and how long it is. */
function preview({ name, type }: ColumnDescription): readonly [start: string, length: string] {
  const column = `i.${quoted(name)}`;
  if (type === "bytes") {
    return [
      `lower(hex(substr(${column}, 1, ${previewLength})))`,
      `CAST(length(${column}) AS TEXT)`,
    ];
  }
  return [
    `substr(CAST(${column} AS TEXT), 1, ${previewLength})`,
    `CAST(length(${column}) AS TEXT)`,
  ];
}

/** A column as text that nothing has rounded. */
function shown({ name, type }: ColumnDescription): string {
  const column = `i.${quoted(name)}`;
  return type === "bytes" ? `lower(hex(${column}))` : `CAST(${column} AS TEXT)`;
}
