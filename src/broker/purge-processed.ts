import { type Delay, delayMsOf } from "../delay.ts";
import { TableError } from "../errors.ts";
import { checkNumber } from "../options.ts";
import { tableLabel } from "../table/description.ts";
import { type AdminOptions, placeOf, type RowsOf, TableAdmin } from "./admin.ts";
import type { Writable } from "./executor.ts";

/** Settings of {@link purgeProcessed}. */
export interface PurgeOptions extends AdminOptions {
  /** Rows that were processed so long ago: milliseconds, or text such as "7d". */
  readonly olderThan: Delay;
  /** How many rows one statement deletes. Default 1,000. */
  readonly chunk?: number;
  /** Ends between two chunks. */
  readonly signal?: AbortSignal;
}

/**
 * Deletes rows that are processed, of tables that keep them, in chunks that commit by themselves, so that
 * no lock is held for long. Answers how many.
 *
 * @param table a described table; of a queue the whole table.
 * @throws TableError for a table without a processed column.
 * @throws RangeError for an age that is none.
 * @example
 * await purgeProcessed(pool, EmailJobs, { olderThan: "7d" });
 */
export async function purgeProcessed(
  conn: Writable,
  table: RowsOf,
  { chunk = 1_000, olderThan, signal, ...options }: PurgeOptions,
): Promise<number> {
  const { table: description } = placeOf(table);
  if (description.roles.processedAt === undefined) {
    throw new TableError(
      `${tableLabel(description)} keeps no processed rows: no column is marked with processedAt()`,
    );
  }
  const olderThanMs = delayMsOf("olderThan", olderThan);
  const limit = checkNumber("chunk", chunk, { min: 1, max: 100_000 });
  const admin = new TableAdmin(conn, description, options);
  const statement = admin.statements.purge(description);
  let purged = 0;
  let after: string | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const values: Record<string, unknown> = { olderThanMs, after, limit };
    const rows: { readonly id: string }[] = await admin.ask(statement, values);
    purged += rows.length;
    if (rows.length < limit) return purged;
    after = rows.at(-1)?.id ?? null;
  }
}
