import { ask } from "../database/ask.ts";
import type { OpenInbox } from "./open-inbox.ts";

/** How a source stands. A type and not an interface, so that it is JSON as it is. */
export type SourceStatus = {
  readonly source: string;
  /** Due and waiting for a worker. */
  readonly backlog: bigint;
  /** Due later. */
  readonly scheduled: bigint;
  readonly inWork: bigint;
  /** In work, and the lease has run out. */
  readonly expired: bigint;
  readonly dead: bigint;
  readonly oldestDue: string | null;
  readonly oldestDueMs: bigint | null;
};

interface StatusRow {
  readonly source: string;
  readonly backlog: string;
  readonly scheduled: string;
  readonly in_work: string;
  readonly expired: string;
  readonly dead: string;
  readonly oldest_due: string | null;
  readonly oldest_due_ms: string | null;
}

/** All sources that have something to tell; a source that is asked for by name is always told of. */
export async function readStatus(
  { admin, database, schema }: OpenInbox,
  name: string | undefined,
): Promise<SourceStatus[]> {
  const values = { source: name ?? null };
  const { rows } = await ask<StatusRow>(database.source, admin.status(schema), values);
  if (name !== undefined && rows.length === 0) return [{ ...nothing, source: name }];
  return rows.map((row) => ({
    source: row.source,
    backlog: BigInt(row.backlog),
    scheduled: BigInt(row.scheduled),
    inWork: BigInt(row.in_work),
    expired: BigInt(row.expired),
    dead: BigInt(row.dead),
    oldestDue: row.oldest_due,
    oldestDueMs: row.oldest_due_ms === null ? null : BigInt(row.oldest_due_ms),
  }));
}

const nothing = {
  backlog: 0n,
  scheduled: 0n,
  inWork: 0n,
  expired: 0n,
  dead: 0n,
  oldestDue: null,
  oldestDueMs: null,
};
