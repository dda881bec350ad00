import { checkNumber, hasMethods, MAX_INT32 } from "../options.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import { FifoLock } from "./fifo-lock.ts";
import { rollBack, SqliteConnection } from "./sqlite-connection.ts";
import { handleOf, type SqliteDatabaseLike, type SqliteHandle } from "./sqlite-handle.ts";

/** Settings of a source of SQLite connections; all have defaults. */
export interface SqliteOptions {
  /**
   * How long a statement waits for a file that another connection has locked, in milliseconds; then it
   * fails with SQLITE_BUSY, which the library tries again later. Default 5000.
   */
  readonly busyTimeoutMs?: number;
}

/** Settings of a source that opens its connections itself. */
export interface SqlitePoolOptions extends SqliteOptions {
  /** How many connections it opens at most. Default 4. */
  readonly max?: number;
}

/** A source that owns its connections. */
export interface SqliteOwnedSource extends ConnectionSource<"sqlite"> {
  /** Closes them. Call it after everything that uses the source has stopped. */
  close(): void;
}

/** What tells the drivers apart. */
interface SqliteDriver {
  readonly takesLists: boolean;
  /** The beginning of the error about something else. */
  readonly takes: string;
}

/** A source on a database that is open, or on those that it opens. @throws TypeError, RangeError */
export function sqliteSource(
  dbOrOpen: SqliteDatabaseLike | (() => SqliteDatabaseLike),
  options: SqlitePoolOptions,
  { takes, takesLists }: SqliteDriver,
): ConnectionSource<"sqlite"> {
  const checked = (db: unknown): SqliteHandle => {
    if (isDatabase(db)) return handleOf(db, takesLists);
    throw new TypeError(`${takes}, or a function that opens one`);
  };
  return typeof dbOrOpen === "function"
    ? new SqlitePoolSource(() => checked(dbOrOpen()), options)
    : new SqliteSingleSource(checked(dbOrOpen), busyTimeoutOf(options));
}

function isDatabase(value: unknown): value is SqliteDatabaseLike {
  return hasMethods(value, ["prepare", "exec", "close"]);
}

function busyTimeoutOf({ busyTimeoutMs = 5000 }: SqliteOptions): number {
  return checkNumber("busyTimeoutMs", busyTimeoutMs, { min: 0, max: MAX_INT32 });
}

/** One lock a database, so that several sources on it queue together. */
const locks = new WeakMap<object, FifoLock>();

/** The one connection of a database that the service has opened, lent to one caller at a time. */
class SqliteSingleSource implements ConnectionSource<"sqlite"> {
  readonly database = "sqlite";
  readonly max = 1;
  readonly #handle: SqliteHandle;
  readonly #busyTimeoutMs: number;
  readonly #lock: FifoLock;

  constructor(handle: SqliteHandle, busyTimeoutMs: number) {
    this.#handle = handle;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#lock = locks.get(handle.client) ?? new FifoLock();
    locks.set(handle.client, this.#lock);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    const giveBack = await this.#lock.acquire(signal);
    const handle = this.#handle;
    try {
      // The service's own patience comes back when its connection does.
      const patience = Object.values(handle.run("PRAGMA busy_timeout", []).rows[0] ?? {})[0];
      neverWait(handle);
      return new SqliteConnection(handle, this.#busyTimeoutMs, () => {
        try {
          rollBack(handle);
          handle.run(`PRAGMA busy_timeout = ${Number(patience) || 0}`, []);
        } finally {
          giveBack();
        }
      });
    } catch (error) {
      giveBack();
      throw error;
    }
  }
}

/** Connections that are opened as they are needed, up to `max`, and kept. */
class SqlitePoolSource implements SqliteOwnedSource {
  readonly database = "sqlite";
  readonly max: number;
  readonly #open: () => SqliteHandle;
  readonly #busyTimeoutMs: number;
  readonly #idle: SqliteHandle[] = [];
  readonly #places: FifoLock;
  #isClosed = false;

  constructor(open: () => SqliteHandle, { max = 4, ...options }: SqlitePoolOptions) {
    this.max = checkNumber("max", max, { min: 1, max: 100 });
    this.#busyTimeoutMs = busyTimeoutOf(options);
    this.#open = open;
    this.#places = new FifoLock(this.max);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    const leave = await this.#places.acquire(signal);
    try {
      if (this.#isClosed) throw new Error("the source of SQLite connections is closed");
      const handle = this.#idle.pop() ?? this.#opened();
      return new SqliteConnection(handle, this.#busyTimeoutMs, (error) => {
        try {
          this.#takeBack(handle, error);
        } finally {
          leave();
        }
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const handle of this.#idle.splice(0)) handle.close();
  }

  /** In WAL mode readers and the writer do not wait for each other; the file keeps the mode. */
  #opened(): SqliteHandle {
    const handle = this.#open();
    handle.run(`PRAGMA busy_timeout = ${OPENING_PATIENCE_MS}`, []);
    handle.run("PRAGMA journal_mode = WAL", []);
    neverWait(handle);
    return handle;
  }

  #takeBack(handle: SqliteHandle, error: Error | undefined): void {
    let isWhole = error === undefined && !this.#isClosed;
    // First of all: libsql leaves the file locked where a connection is closed in its transaction.
    try {
      rollBack(handle);
    } catch {
      isWhole = false;
    }
    if (isWhole) this.#idle.push(handle);
    else handle.close();
  }
}

/** Turning to WAL takes the file alone, for the moment that another process may be opening it, too. */
const OPENING_PATIENCE_MS = 1000;

/** See {@link SqliteConnection}: a locked file is tried again, and not waited for. */
function neverWait(handle: SqliteHandle): void {
  handle.run("PRAGMA busy_timeout = 0", []);
}
