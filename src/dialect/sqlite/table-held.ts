/**
 * Rows in hand. What proves that they are: rows under an advisory lock are the session's; a leased row is
 * ours while its lease's end and its attempt are those that our claim wrote.
 *
 * A lease that has run out is no obstacle to a settlement: until somebody claims the row, or takes its
 * fifo group over, nobody else had it. An extension and a handler's transaction do need a lease that holds.
 */
import { all, cast, type TableSql } from "./table-names.ts";

/** A column of an UPDATE, quoted, and what it becomes. */
export interface Change {
  readonly column: string;
  readonly value: string;
}

/** A parameter beside the ids: a list, called by its column. */
export interface List {
  readonly column: string;
  readonly param: string;
  readonly type: string;
}

/** `given`: what was passed, a row each. */
export function given(sql: TableSql, lists: readonly List[] = []): string {
  const { attempt, id, lockedUntil } = sql.table.roles;
  const element = (param: string) => `json_extract(${sql.param(param)}, '$[' || g.key || ']')`;
  const cells = [
    `${id === undefined ? "g.value" : cast("g.value", id)} AS id`,
    ...(lockedUntil === undefined ? [] : [`${element("tokens")} AS token`]),
    ...(lockedUntil === undefined || attempt === undefined
      ? []
      : [`${cast(element("attempts"), attempt)} AS attempt`]),
    ...lists.map(({ column, param, type }) => `CAST(${element(param)} AS ${type}) AS ${column}`),
  ];
  return `given AS (
  SELECT ${cells.join(",\n    ")}
  FROM json_each(${sql.param("ids")}) AS g
)`;
}

/** The row called `i` is the given one, and ours. */
export function ours(sql: TableSql, isLive = false): string {
  const lease = sql.of("lockedUntil");
  if (lease === undefined) return `i.${sql.id} = given.id`;
  const attempt = sql.of("attempt");
  return all(
    `i.${sql.id} = given.id`,
    `${lease} = given.token`,
    attempt === undefined ? [] : `${attempt} = given.attempt`,
    sql.open(),
    isLive ? `${lease} > ${sql.now}` : [],
  );
}

export interface HeldOptions {
  readonly lists?: readonly List[];
  /** The lease must not have run out. */
  readonly isLive?: boolean;
}

/** An UPDATE of the given rows that are ours. */
export function update(
  sql: TableSql,
  changes: readonly Change[],
  { isLive = false, lists = [] }: HeldOptions = {},
  more = "",
): string {
  return `WITH ${given(sql, lists)}
UPDATE ${sql.name} AS i
SET ${assigned(changes)}
FROM given
WHERE ${ours(sql, isLive)}
RETURNING CAST(${sql.id} AS TEXT) AS id${more}`;
}

/** What an UPDATE sets. */
export function assigned(changes: readonly Change[]): string {
  return changes.map(({ column, value }) => `${column} = ${value}`).join(",\n    ");
}

/** The given rows that are ours, gone. */
export function remove(sql: TableSql): string {
  return `WITH ${given(sql)}
DELETE FROM ${sql.name}
WHERE ${sql.id} IN (SELECT i.${sql.id} FROM given JOIN ${sql.name} AS i ON ${ours(sql)})
RETURNING CAST(${sql.id} AS TEXT) AS id`;
}

/** The claim no longer holds the row. */
export function unleased(sql: TableSql): Change[] {
  const { lockedUntil } = sql.table.roles;
  const column = sql.column("lockedUntil");
  if (column === undefined) return [];
  return [{ column, value: lockedUntil?.nullable === false ? never : "NULL" }];
}

/** The lease of a row that nobody holds, where the column cannot be null. */
export const never = "'1970-01-01T00:00:00.000Z'";

/**
 * The attempt, one more. A column that is full stays so: a row that failed 32,767 times must not make
 * the claim of all others fail.
 */
export function counted(sql: TableSql): Change[] {
  const { attempt } = sql.table.roles;
  const column = sql.column("attempt");
  if (attempt === undefined || column === undefined) return [];
  const now = `coalesce(i.${column}, ${sql.table.attemptFrom})`;
  const most = MOST[attempt.type];
  return [{ column, value: `${most === undefined ? now : `min(${now}, ${most} - 1)`} + 1` }];
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
  return [{ column, value: `max(i.${column} - 1, ${sql.table.attemptFrom})` }];
}
