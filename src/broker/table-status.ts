import { type AdminOptions, placeOf, type RowsOf, TableAdmin } from "./admin.ts";
import type { Writable } from "./executor.ts";

/** How a group of a table stands. Null: the table does not tell. */
export type GroupStatus = {
  /** Null on a table without groups, and for rows without one. */
  readonly group: string | null;
  /** Due, and held by no lease; what row locks or advisory locks hold is among them. */
  readonly waiting: number;
  /** Due later. */
  readonly future: number | null;
  /** Under a lease that holds. */
  readonly inWork: number | null;
  /** Under a lease that has run out: claimable again. */
  readonly expired: number | null;
  readonly processed: number | null;
  /** The due time of the row that waits longest, of those that have one; ISO 8601 in UTC. */
  readonly oldestDue: string | null;
  /** How long ago that was. */
  readonly oldestDueMs: number | null;
};

/**
 * How a table, or one queue of it, stands, group by group, by their names. Reads the whole table: not for
 * each second.
 *
 * @throws TypeError for what is no described table.
 * @example
 * for (const { group, waiting } of await tableStatus(pool, EmailJobs)) console.log(group, waiting);
 */
export async function tableStatus(
  conn: Writable,
  of: RowsOf,
  { limit = 10_000, ...options }: AdminOptions & { readonly limit?: number } = {},
): Promise<readonly GroupStatus[]> {
  const { group, table } = placeOf(of);
  const admin = new TableAdmin(conn, table, options);
  const values = { from: group ?? null, limit };
  const rows = await admin.ask<StatusRow>(admin.statements.status(table), values);
  return rows.map((row) => ({
    group: row.group,
    waiting: Number(row.waiting),
    future: numberOf(row.future),
    inWork: numberOf(row.in_work),
    expired: numberOf(row.expired),
    processed: numberOf(row.processed),
    oldestDue: row.oldest_due,
    oldestDueMs: numberOf(row.oldest_due_ms),
  }));
}

type StatusRow = {
  readonly [name in
    | "group"
    | "waiting"
    | "future"
    | "in_work"
    | "expired"
    | "processed"
    | "oldest_due"
    | "oldest_due_ms"]: string | null;
};

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}
