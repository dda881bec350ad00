/**
 * Rows in hand. What proves that they are: rows under a row lock are the transaction's, rows under an
 * advisory lock the session's; a leased row is ours while its lease's end and its attempt are those
 * that our claim wrote.
 *
 * A lease that has run out is no obstacle to a settlement: until somebody claims the row, or takes its
 * fifo group over, nobody else had it. An extension and a handler's transaction do need a lease that
 * holds, by a clock that goes on within a transaction: a group that was free for a moment may be in
 * another's hands.
 */
import { all, type TableSql } from "./table-names.ts";
import { sqlTypes } from "./types.ts";

/** A column of an UPDATE, quoted, and what it becomes. */
export interface Change {
  readonly column: string;
  readonly value: string;
}

export interface HeldOptions {
  /** Parameters beside the ids: a list each, called by its column. */
  readonly lists?: readonly {
    readonly column: string;
    readonly param: string;
    readonly type: string;
  }[];
  /** The lease must not have run out. */
  readonly isLive?: boolean;
  /** Rows that others have locked are left out, not waited for. */
  readonly skipsLocked?: boolean;
  readonly lock?: "UPDATE" | "NO KEY UPDATE";
}

/** `given`: what was passed, a row each. */
export function given(sql: TableSql, lists: HeldOptions["lists"] = []): string {
  const { attempt, lockedUntil } = sql.table.roles;
  const all = [
    { column: "id", param: "ids", type: sql.idType },
    ...(lockedUntil === undefined ? [] : [{ column: "token", param: "tokens", type: "text" }]),
    ...(lockedUntil === undefined || attempt === undefined
      ? []
      : [{ column: "attempt", param: "attempts", type: sqlTypes[attempt.type] }]),
    ...lists,
  ];
  const arrays = all.map(({ param, type }) => `${sql.param(param)}::text::${type}[]`).join(", ");
  const names = all.map(({ column }) => column).join(", ");
  return `given AS (
  SELECT g.* FROM unnest(${arrays}) AS g (${names})
)`;
}

/** The row called `i` is the given one, and ours. */
export function ours(sql: TableSql, isLive = false): string {
  const lease = sql.of("lockedUntil");
  if (lease === undefined) return `i.${sql.id} = given.id`;
  const attempt = sql.of("attempt");
  return all(
    `i.${sql.id} = given.id`,
    `${sql.token()} = given.token`,
    attempt === undefined ? [] : `${attempt} = given.attempt`,
    sql.open(),
    isLive ? `${lease} > ${sql.clock}` : [],
  );
}

/**
 * `given` and `locked`: the rows that are ours, locked in the order of their ids.
 *
 * All that are given; but the planner takes a LIMIT that it does not know for a tenth, which is one row.
 * Else a plan made for the one row at hand looks cheaper to it than one for any number of rows, and it plans
 * each settlement anew, which takes longer than to run it.
 */
export function heldRows(sql: TableSql, options: HeldOptions = {}): string {
  const { lists = [], isLive = false, skipsLocked = false, lock = "NO KEY UPDATE" } = options;
  const carried = lists.map(({ column }) => `, given.${column}`).join("");
  return `WITH ${given(sql, lists)}, locked AS (
  SELECT i.${sql.id} AS id${carried}
  FROM (SELECT * FROM given LIMIT (SELECT NULL::bigint)) AS given JOIN ${sql.name} AS i ON ${ours(sql, isLive)}
  ORDER BY i.${sql.id}
  FOR ${lock} OF i${skipsLocked ? " SKIP LOCKED" : ""}
)`;
}

/** An UPDATE of the `locked` rows. */
export function update(sql: TableSql, changes: readonly Change[]): string {
  return `UPDATE ${sql.name} AS i
SET ${changes.map(({ column, value }) => `${column} = ${value}`).join(",\n    ")}
FROM locked
WHERE i.${sql.id} = locked.id
RETURNING i.${sql.id}::text AS id`;
}

/** The claim no longer holds the row. */
export function unleased(sql: TableSql): Change[] {
  const { lockedUntil } = sql.table.roles;
  const column = sql.column("lockedUntil");
  if (column === undefined) return [];
  return [{ column, value: lockedUntil?.nullable === false ? "'epoch'" : "NULL" }];
}

/**
 * The attempt, one more. A column that is full stays so: a row that failed 32,767 times must not make
 * the claim of all others fail.
 */
export function counted(sql: TableSql): Change[] {
  const { attempt } = sql.table.roles;
  const column = sql.column("attempt");
  if (attempt === undefined || column === undefined) return [];
  const now = attempt.nullable ? `coalesce(i.${column}, ${sql.table.attemptFrom})` : `i.${column}`;
  const most = MOST[attempt.type];
  return [{ column, value: `${most === undefined ? now : `least(${now}, ${most} - 1)`} + 1` }];
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
  return [{ column, value: `greatest(i.${column} - 1, ${sql.table.attemptFrom})` }];
}
