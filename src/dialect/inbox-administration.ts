import type { InboxSchema } from "./inbox-schema.ts";
import type { InboxStatement } from "./inbox-statement.ts";

/**
 * What people do to an inbox beside its workers: see how it stands, look at dead letters, run them again, throw
 * them away. Ids are answered as text in lower case, times as ISO 8601 text in UTC.
 */
export interface InboxAdministration {
  /** Answers as `columns` of the worker's statements does. No parameters. */
  columns(schema: InboxSchema): InboxStatement;
  /**
   * Answers a row a source, by name: `source`, `backlog` (due and waiting), `scheduled` (due later), `in_work`,
   * `expired` (in work, the lease run out), `dead`, `oldest_due` (null: none) and `oldest_due_ms` (its age); the
   * counts as text. Parameter: source (null: all).
   */
  status(schema: InboxSchema): InboxStatement;
  /**
   * Dead rows, the newest first: `id`, `source`, `idempotency_key`, `aggregate_id`, `event_type`, `attempt`,
   * `created_at`, `claimed_at` (the last claim; null where there was none), `last_error`. A row says where the
   * next page starts. Parameters: source (null: all), after (the last id of the page before; null), limit.
   */
  list(schema: InboxSchema): InboxStatement;
  /** One dead row, whole: what the list has, and `correlation_id`, `payload`, `headers` as text. Parameter: id. */
  show(schema: InboxSchema): InboxStatement;
  /**
   * Runs dead rows again: pending, due now, attempt 0; the last error stays for the record. Answers `id`.
   * Parameter: ids.
   */
  retry(schema: InboxSchema): InboxStatement;
  /** The same for a source, the oldest first, {@link deadLetterChunk} rows at a time. Parameter: source. */
  retryOfSource(schema: InboxSchema): InboxStatement;
  /** Deletes dead rows by id. Answers `id`. Parameter: ids. */
  purge(schema: InboxSchema): InboxStatement;
  /**
   * Deletes dead rows, the oldest first, {@link deadLetterChunk} at a time. A row's age counts from its last claim
   * (its creation where it had none): the table keeps no time of death. Answers `id`. Parameters: source (null:
   * all), olderThanMs.
   */
  purgeOld(schema: InboxSchema): InboxStatement;
  /** A list of ids as one parameter. */
  ids(ids: readonly string[]): unknown;
}

/** How many rows one statement retries or purges: run it again until it answers fewer. */
export const deadLetterChunk = 1_000;
