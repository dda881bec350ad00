import type { ColumnDescription, ColumnType, TableDescription } from "../table/description.ts";
import type { DeadLetterSettings } from "./dialect.ts";
import type { Statement } from "./statement.ts";

/**
 * What people do to a table beside its subscriptions. All values are answered as text, so that none loses
 * a digit and none fails to be read. A parameter `from` is the group that rows are in; null: any.
 */
export interface TableAdministration {
  /**
   * Whether a column of a database's type, as {@link TableInspection.columns} writes it, does for a type of
   * a description. A type that the database does not come with (a domain, an enum) always does: the
   * statements alone tell.
   */
  fits(type: ColumnType, databaseType: string): boolean;

  /**
   * from, limit. A row a group, by its name, and one row of a table without groups: `group`, `waiting` (due,
   * held by nobody), `future` (due later), `in_work` (under a lease that holds), `expired` (under one that
   * has run out), `processed`, `oldest_due` and `oldest_due_ms` (its age). Null where the table does not
   * tell.
   */
  status(table: TableDescription): Statement;

  /**
   * from, after (the id of the page before; null), limit. Rows that are not processed, in the order of
   * their ids: `id`, `group`, `attempt`, `due`, `leased_until`, `reason`, `payload` (its first characters, or
   * of bytes their hexadecimal digits), `payload_length` (characters or bytes).
   */
  rows(table: TableDescription, settings: RowsSettings): Statement;

  /** from, id. One row that is not processed: its columns in their order as `v0`, `v1`...; bytes in hex. */
  row(table: TableDescription): Statement;

  /**
   * ids, from, group (of the destination). Moves rows that nobody works, as a dead letter moves, but for the
   * reason: attempt, due time and lease start anew. Answers `id` a moved row.
   */
  move(table: TableDescription, settings: DeadLetterSettings): Statement;

  /** ids, from. Deletes rows that are not processed and that nobody works. Answers `id` a deleted row. */
  remove(table: TableDescription): Statement;

  /**
   * ids. `id` and `key` of rows under advisory locks. Of databases whose sessions have no such locks: nobody works
   * a row whose key the connection's own `locks` have taken for the time of a move or a removal.
   */
  keys?(table: TableDescription): Statement;

  /**
   * olderThanMs, after, limit. Deletes processed rows behind the id `after`, in the order of their ids.
   * Answers `id` a deleted row. Only of tables with a processed column.
   */
  purge(table: TableDescription): Statement;
}

/** How {@link TableAdministration.rows} lists rows. */
export interface RowsSettings {
  /** The column that takes reasons of dead letters. */
  readonly reason?: ColumnDescription;
  readonly order: "ascending" | "descending";
}
