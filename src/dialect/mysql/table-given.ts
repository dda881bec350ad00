/**
 * Rows in hand. What proves that they are: rows under a row lock are the transaction's, rows under an
 * advisory lock the session's; a leased row is ours while its lease's end and its attempt are those that our
 * claim wrote.
 *
 * A lease that has run out is no obstacle to a settlement: until somebody claims the row, or takes its fifo
 * group over, nobody else had it. An extension and a handler's transaction do need a lease that holds.
 */
import { time } from "./sql.ts";
import { all, type TableSql } from "./table-names.ts";

/** A column of an UPDATE, quoted, and what it becomes. */
export interface Change {
  readonly column: string;
  readonly value: string;
}

/**
 * The given rows, as `g`; `more`: further columns. A derived table, which FOR UPDATE locks nothing of: MySQL refuses
 * it beside a bare JSON_TABLE (error 3569), and MariaDB has no FOR UPDATE OF.
 */
export function given(sql: TableSql, more = ""): string {
  const id = sql.hasTextId ? "VARCHAR(768)" : (sql.exactId ?? "BIGINT");
  return `(SELECT * FROM JSON_TABLE(${sql.param("given")}, '$[*]' COLUMNS (
  n FOR ORDINALITY,
  id ${id} PATH '$.id',
  token VARCHAR(40) PATH '$.token',
  attempt BIGINT PATH '$.attempt',
  delay DECIMAL(30, 3) PATH '$.delay',
  reason LONGTEXT PATH '$.reason'${more}
)) AS listed) AS g`;
}

/** The same, with the place that each has among those that were given. */
export function givenInPlace(sql: TableSql): string {
  return given(sql, ",\n  place BIGINT PATH '$.place'");
}

/**
 * The row called `i` is the given one. A text id is taken from the parameter itself, whose collation gives way
 * to the column's; a column of JSON_TABLE insists on its own, and no index of the table would serve.
 */
export function isGiven(sql: TableSql): string {
  return `i.${sql.id} = ${sql.hasTextId ? givenId(sql) : "g.id"}`;
}

/**
 * The id of the given row `g`. A UUID in ASCII, which gives way to any column: MySQL 8.0.19 does not compare what JSON
 * functions answer, in utf8mb4, with a column in ASCII.
 */
export function givenId(sql: TableSql): string {
  if (!sql.hasTextId) return "g.id";
  const id = `JSON_UNQUOTE(JSON_EXTRACT(${sql.param("given")}, CONCAT('$[', g.n - 1, '].id')))`;
  return sql.table.roles.id?.type === "uuid" ? `CONVERT(${id} USING ascii)` : id;
}

/** The row called `i` is the given one, and ours. */
export function ours(sql: TableSql, isLive = false): string {
  return all(isGiven(sql), fence(sql, "g.token", "g.attempt", isLive));
}

/** The same of the one row that is given. */
export function oursAlone(sql: TableSql): string {
  return all(
    `i.${sql.id} = ${sql.idValue()}`,
    fence(sql, sql.param("token"), `CAST(${sql.param("attempt")} AS SIGNED)`, false),
  );
}

function fence(sql: TableSql, token: string, attempted: string, isLive: boolean): string[] {
  const lease = sql.of("lockedUntil");
  if (lease === undefined) return [];
  const attempt = sql.of("attempt");
  return [
    `${lease} = ${time(token)}`,
    ...(attempt === undefined ? [] : [`${attempt} = ${attempted}`]),
    ...sql.open(),
    ...(isLive ? [`${lease} > ${sql.now}`] : []),
  ];
}

/** What an UPDATE sets. */
export function assigned(changes: readonly Change[], alias = "i"): string {
  return changes.map(({ column, value }) => `${alias}.${column} = ${value}`).join(",\n    ");
}

/** The claim no longer holds the row. */
export function unleased(sql: TableSql): Change[] {
  const { lockedUntil } = sql.table.roles;
  const column = sql.column("lockedUntil");
  if (column === undefined) return [];
  return [{ column, value: lockedUntil?.nullable === false ? NEVER : "NULL" }];
}

/** The lease of a row that nobody holds, where the column cannot be null; TIMESTAMP begins a second later. */
export const NEVER = "'1970-01-01 00:00:01'";

/**
 * The attempt, one more. A column that is full stays so: a row that failed 32,767 times must not make
 * the claim of all others fail.
 */
export function countedAttempt(sql: TableSql): string | undefined {
  const { attempt } = sql.table.roles;
  const column = sql.of("attempt");
  if (attempt === undefined || column === undefined) return undefined;
  const now = `COALESCE(${column}, ${sql.table.attemptFrom})`;
  const most = MOST[attempt.type];
  return `${most === undefined ? now : `LEAST(${now}, ${most} - 1)`} + 1`;
}

export function counted(sql: TableSql): Change[] {
  const column = sql.column("attempt");
  const value = countedAttempt(sql);
  return column === undefined || value === undefined ? [] : [{ column, value }];
}

const MOST: Readonly<Record<string, string>> = {
  smallint: "32767",
  integer: "2147483647",
  bigint: "9223372036854775807",
};

/** The attempt that the claim counted, taken off again. */
export function uncounted(sql: TableSql): Change[] {
  const column = sql.column("attempt");
  if (column === undefined) return [];
  const value = `GREATEST(i.${column} - 1, ${sql.table.attemptFrom})`;
  return [{ column, value }];
}
