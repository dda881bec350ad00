/**
 * Settling rows in hand: all forms by one set of statements. What differs is the fence. Rows under a row
 * lock are the transaction's, rows under an advisory lock the session's; a leased row is ours while
 * its lease's end and its attempt are those that our claim wrote.
 *
 * A lease that has run out is no obstacle to a settlement: until somebody claims the row, or takes its
 * fifo group over, nobody else had it. An extension and a handler's transaction do need a lease that
 * holds, by a clock that goes on within a transaction: a group that was free for a moment may be in
 * another's hands.
 */
import type { ClaimSettings, SettleStatements } from "../dialect.ts";
import { allOrFail, milliseconds } from "./sql.ts";
import { deadLetter } from "./table-dead-letter.ts";
import { all, type TableSql } from "./table-names.ts";
import { sqlTypes } from "./types.ts";

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

/** `given` and `locked`: the rows that are ours, locked in the order of their ids. */
export function heldRows(sql: TableSql, options: HeldOptions = {}): string {
  const { lists = [], isLive = false, skipsLocked = false, lock = "NO KEY UPDATE" } = options;
  const carried = lists.map(({ column }) => `, given.${column}`).join("");
  return `WITH ${given(sql, lists)}, locked AS (
  SELECT i.${sql.id} AS id${carried}
  FROM given JOIN ${sql.name} AS i ON ${ours(sql, isLive)}
  ORDER BY i.${sql.id}
  FOR ${lock} OF i${skipsLocked ? " SKIP LOCKED" : ""}
)`;
}

/** An UPDATE of the `locked` rows. */
export function update(sql: TableSql, sets: readonly string[]): string {
  return `UPDATE ${sql.name} AS i
SET ${sets.join(",\n    ")}
FROM locked
WHERE i.${sql.id} = locked.id
RETURNING i.${sql.id}::text AS id`;
}

/** The claim no longer holds the row. */
export function unleased(sql: TableSql): string[] {
  const { lockedUntil } = sql.table.roles;
  const column = sql.column("lockedUntil");
  if (column === undefined) return [];
  return [`${column} = ${lockedUntil?.nullable === false ? "'epoch'" : "NULL"}`];
}

/** Ack and drop: marked where the table has a column for it, else gone. */
export function ack(sql: TableSql): string {
  const done = sql.column("processedAt");
  if (done !== undefined) {
    return `${heldRows(sql)}
${update(sql, [`${done} = ${sql.clock}`, ...unleased(sql)])}`;
  }
  return `${heldRows(sql, { lock: "UPDATE" })}
DELETE FROM ${sql.name} AS i
USING locked
WHERE i.${sql.id} = locked.id
RETURNING i.${sql.id}::text AS id`;
}

/** The row is due `delay` milliseconds from now. */
export function retryAfter(sql: TableSql, more: readonly string[]): string | undefined {
  const due = sql.column("retryAfter");
  if (due === undefined) return undefined;
  const lists = [{ column: "delay", param: "delaysMs", type: "double precision" }];
  return `${heldRows(sql, { lists })}
${update(sql, [`${due} = ${sql.clock} + ${milliseconds("locked.delay")}`, ...more])}`;
}

/** What every form has; `counts`: settlements count the attempt, as the claim does not. */
export function settlements(
  build: () => TableSql,
  settings: ClaimSettings,
  counts: boolean,
): SettleStatements {
  const state = (sql: TableSql) => [...unleased(sql), ...(counts ? counted(sql) : [])];
  const acks = build();
  const retries = build();
  const delays = build();
  const sets = state(retries);
  const delayed = retryAfter(delays, state(delays));
  return {
    ack: acks.statement(ack(acks)),
    ...(sets.length > 0 && {
      retry: retries.statement(`${heldRows(retries)}\n${update(retries, sets)}`),
    }),
    ...(delayed !== undefined && { retryAfter: delays.statement(delayed) }),
    ...(settings.deadLetter !== undefined && {
      deadLetter: deadLetter(build(), settings.deadLetter),
    }),
  };
}

/**
 * The attempt, one more. A column that is full stays so: a row that failed 32,767 times must not make
 * the claim of all others fail.
 */
export function counted(sql: TableSql): string[] {
  const { attempt } = sql.table.roles;
  const column = sql.column("attempt");
  if (attempt === undefined || column === undefined) return [];
  const now = attempt.nullable ? `coalesce(i.${column}, ${sql.table.attemptFrom})` : `i.${column}`;
  const most = MOST[attempt.type];
  return [
    most === undefined ? `${column} = ${now} + 1` : `${column} = least(${now}, ${most} - 1) + 1`,
  ];
}

const MOST: Readonly<Record<string, string>> = {
  smallint: "32767",
  integer: "2147483647",
  bigint: "9223372036854775807",
};

/** The attempt that the claim counted, taken off again. */
export function uncounted(sql: TableSql): string[] {
  const column = sql.column("attempt");
  return column === undefined
    ? []
    : [`${column} = greatest(i.${column} - 1, ${sql.table.attemptFrom})`];
}

/** A statement over `locked` that fails unless all given rows are in it. */
export function failUnlessAll(what: string, from: string): string {
  return `SELECT ${allOrFail("(SELECT count(*) FROM given)", what)} AS done
FROM ${from}`;
}
