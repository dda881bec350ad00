import type { ConnectionSource } from "./connection.ts";
import type { SqliteDatabaseLike } from "./sqlite-handle.ts";
import {
  type SqliteOptions,
  type SqliteOwnedSource,
  type SqlitePoolOptions,
  sqliteSource,
} from "./sqlite-source.ts";

export type { SqliteDatabaseLike, SqliteStatementLike, SqliteValue } from "./sqlite-handle.ts";
export type { SqliteOptions, SqliteOwnedSource, SqlitePoolOptions } from "./sqlite-source.ts";

/**
 * Connections from a database of `bun:sqlite`. It is one
 * connection, lent to one caller at a time: a handler that has a transaction keeps all else waiting. Give a
 * function that opens the file where handlers are to run beside each other. Your database stays yours.
 *
 * @example
 * const source = fromBunSqlite(new Database(":memory:"));
 *
 * @throws TypeError if the database has the wrong shape.
 */
export function fromBunSqlite(
  db: SqliteDatabaseLike,
  options?: SqliteOptions,
): ConnectionSource<"sqlite">;
/**
 * Connections that `open` makes as they are needed, up to `max`; the source closes them at `close()`. It
 * puts the file into WAL mode, and waits for locks without stopping the event loop.
 *
 * @example
 * const source = fromBunSqlite(() => new Database("app.db"), { max: 4 });
 *
 * @throws TypeError or RangeError if an option has the wrong shape.
 */
export function fromBunSqlite(
  open: () => SqliteDatabaseLike,
  options?: SqlitePoolOptions,
): SqliteOwnedSource;
export function fromBunSqlite(
  dbOrOpen: SqliteDatabaseLike | (() => SqliteDatabaseLike),
  options: SqlitePoolOptions = {},
): ConnectionSource<"sqlite"> {
  return sqliteSource(dbOrOpen, options, {
    takesLists: false,
    takes: 'fromBunSqlite: takes a database, such as new Database(":memory:")',
  });
}
