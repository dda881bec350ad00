/** Dead letters, for the command line: list, show, run again, throw away. */
import { deadLetterChunk } from "../inbox-administration.ts";
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { isoTime, milliseconds } from "./sql.ts";

/**
 * The newest first: `id`, `source`, `idempotency_key`, `aggregate_id`, `event_type`, `attempt`,
 * `created_at`, `claimed_at` (the last claim; null where there was none), `last_error`. Times are ISO
 * 8601 text in UTC with microseconds. A row says where the next page starts.
 * Parameters: source (null: all), after (the last id of the page before; null), limit.
 */
export function listDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `SELECT ${summary(names)}
FROM ${names.table} AS i
WHERE ${dead(names)}
  AND ($1::text IS NULL OR i.${column.source} = $1::text)
  AND ($2::uuid IS NULL OR (i.${column.createdAt}, i.${column.id}) < (
    SELECT a.${column.createdAt}, a.${column.id} FROM ${names.table} AS a WHERE a.${column.id} = $2::uuid
  ))
ORDER BY i.${column.createdAt} DESC, i.${column.id} DESC
LIMIT $3::int`,
    params: ["source", "after", "limit"],
  };
}

/** One dead row, whole: what the list has, and `correlation_id`, `payload`, `headers` as text. Parameter: id. */
export function showDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `SELECT ${summary(names)},
  i.${column.correlationId} AS correlation_id,
  i.${column.payload}::text AS payload,
  i.${column.headers}::text AS headers
FROM ${names.table} AS i
WHERE i.${column.id} = $1::uuid AND ${dead(names)}`,
    params: ["id"],
  };
}

/** Runs rows again: pending, due now, attempt 0; the last error stays for the record. Answers `id`. Parameter: ids (a list). */
export function retryDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: revival(names, `i.${column.id} = ANY ($1::text::uuid[])`),
    params: ["ids"],
  };
}

/** The same for a source, the oldest first, {@link deadLetterChunk} rows at a time. Answers `id`. Parameter: source. */
export function retryDeadOfSourceStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return { text: revival(names, chunk(names, "d.", "= $1::text")), params: ["source"] };
}

/**
 * Deletes dead rows, the oldest first, {@link deadLetterChunk} at a time. A row's age counts from its
 * last claim (its creation where it had none): the table keeps no time of death. Answers `id`.
 * Parameters: source (null: all), olderThanMs.
 */
export function purgeDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  const old = `coalesce(d.${column.claimedAt}, d.${column.createdAt}) <= clock_timestamp() - ${milliseconds("$2")}`;
  return {
    text: `DELETE FROM ${names.table} AS i
WHERE i.${column.id} IN (
  SELECT d.${column.id}
  FROM ${names.table} AS d
  WHERE ${dead(names, "d")} AND ($1::text IS NULL OR d.${column.source} = $1::text) AND ${old}
  ORDER BY d.${column.createdAt}, d.${column.id}
  LIMIT ${deadLetterChunk}
  FOR UPDATE SKIP LOCKED
)
RETURNING i.${column.id}::text AS id`,
    params: ["source", "olderThanMs"],
  };
}

/** Deletes dead rows by id. Answers `id`. Parameter: ids (a list). */
export function purgeDeadByIdStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `DELETE FROM ${names.table} AS i
WHERE i.${column.id} = ANY ($1::text::uuid[]) AND ${dead(names)}
RETURNING i.${column.id}::text AS id`,
    params: ["ids"],
  };
}

function revival(names: InboxNames, which: string): string {
  const { column } = names;
  return `UPDATE ${names.table} AS i
SET ${column.state} = 'pending',
    ${column.scheduledAt} = clock_timestamp(),
    ${column.attempt} = 0,
    ${column.claimToken} = NULL,
    ${column.claimedAt} = NULL,
    ${column.leaseExpiresAt} = NULL,
    ${column.processedAt} = NULL
WHERE ${which} AND ${dead(names)}
RETURNING i.${column.id}::text AS id`;
}

function chunk(names: InboxNames, alias: string, source: string): string {
  const { column } = names;
  return `i.${column.id} IN (
  SELECT d.${column.id}
  FROM ${names.table} AS d
  WHERE ${dead(names, "d")} AND ${alias}${column.source} ${source}
  ORDER BY d.${column.createdAt}, d.${column.id}
  LIMIT ${deadLetterChunk}
  FOR UPDATE SKIP LOCKED
)`;
}

function dead(names: InboxNames, alias = "i"): string {
  return `${alias}.${names.column.consumption} = 'pull' AND ${alias}.${names.column.state} = 'dead'`;
}

function summary(names: InboxNames): string {
  const { column } = names;
  return `i.${column.id}::text AS id, i.${column.source} AS source,
  i.${column.idempotencyKey} AS idempotency_key, i.${column.aggregateId} AS aggregate_id,
  i.${column.eventType} AS event_type, i.${column.attempt} AS attempt,
  ${isoTime(`i.${column.createdAt}`)} AS created_at, ${isoTime(`i.${column.claimedAt}`)} AS claimed_at,
  i.${column.lastError} AS last_error`;
}
