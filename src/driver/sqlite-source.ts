import { checkNumber, hasMethods, MAX_INT32 } from "../options.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import { FifoLock } from "./fifo-lock.ts";
import { rollBack, SqliteConnection } from "./sqlite-connection.ts";
import { handleOf, type SqliteDatabaseLike, type SqliteHandle } from "./sqlite-handle.ts";
import { SqliteLockFile } from "./sqlite-lock-file.ts";
import { MemoryLocks, SqliteConnectionLocks, type SqliteLockKeeper } from "./sqlite-locks.ts";
import { type Shared, sharedBy } from "./sqlite-sharing.ts";

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
    : new SqliteSingleSource(checked(dbOrOpen), busyTimeoutOf(options), (file) => {
        try {
          return checked(Reflect.construct(Object(dbOrOpen.constructor), [file]));
        } catch (cause) {
          const why = `advisory locks take a connection of their own to ${file}, which the database's class did not open`;
          throw new TypeError(`${why}: ${takes}, or better a function that opens one`, { cause });
        }
      });
}

function isDatabase(value: unknown): value is SqliteDatabaseLike {
  return hasMethods(value, ["prepare", "exec", "close"]);
}

function busyTimeoutOf({ busyTimeoutMs = 5000 }: SqliteOptions): number {
  return checkNumber("busyTimeoutMs", busyTimeoutMs, { min: 0, max: MAX_INT32 });
}

/** Who keeps the keys of the database that `handle` is open to. */
async function lockKeeper(
  handle: SqliteHandle,
  open: (file: string) => SqliteHandle,
  busyTimeoutMs: number,
): Promise<SqliteLockKeeper> {
  const databases = handle.run("PRAGMA database_list", []).rows;
  const file = databases.find(({ name }) => name === "main")?.file;
  // In memory, or in a file without a name.
  if (typeof file !== "string" || file === "") return new MemoryLocks();
  return await SqliteLockFile.open(file, open(file), busyTimeoutMs);
}

/** The one connection of a database that the service has opened, lent to one caller at a time. */
class SqliteSingleSource implements ConnectionSource<"sqlite"> {
  readonly database = "sqlite";
  readonly max = 1;
  readonly #handle: SqliteHandle;
  readonly #busyTimeoutMs: number;
  readonly #shared: Shared;
  readonly #open: (file: string) => SqliteHandle;

  constructor(handle: SqliteHandle, busyTimeoutMs: number, open: (file: string) => SqliteHandle) {
    this.#handle = handle;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#open = open;
    this.#shared = sharedBy.get(handle.client) ?? { lock: new FifoLock() };
    sharedBy.set(handle.client, this.#shared);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    const giveBack = await this.#shared.lock.acquire(signal);
    const handle = this.#handle;
    try {
      // The service's own patience comes back when its connection does.
      const patience = Object.values(handle.run("PRAGMA busy_timeout", []).rows[0] ?? {})[0];
      neverWait(handle);
      const takeBack = () => {
        try {
          rollBack(handle);
          handle.run(`PRAGMA busy_timeout = ${Number(patience) || 0}`, []);
        } finally {
          giveBack();
        }
      };
      const locks = new SqliteConnectionLocks(() => this.#keeper());
      return new SqliteConnection(handle, this.#busyTimeoutMs, takeBack, locks);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #keeper(): Promise<SqliteLockKeeper> {
    const shared = this.#shared;
    shared.locks ??= lockKeeper(this.#handle, this.#open, this.#busyTimeoutMs).catch((error) => {
      delete shared.locks;
      throw error;
    });
    return shared.locks;
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
  #locks: SqliteLockKeeper | undefined;
  #locking: Promise<SqliteLockKeeper> | undefined;
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
      const handle = this.#idle.pop() ?? (await this.#opened());
      const takeBack = (error?: Error) => {
        try {
          this.#takeBack(handle, error);
        } finally {
          leave();
        }
      };
      const locks = new SqliteConnectionLocks(() => this.#keeper(handle));
      return new SqliteConnection(handle, this.#busyTimeoutMs, takeBack, locks);
    } catch (error) {
      leave();
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const handle of this.#idle.splice(0)) handle.close();
    this.#locks?.close();
  }

  #keeper(handle: SqliteHandle): Promise<SqliteLockKeeper> {
    this.#locking ??= lockKeeper(handle, this.#open, this.#busyTimeoutMs).then(
      (locks) => {
        this.#locks = locks;
        if (this.#isClosed) locks.close();
        return locks;
      },
      (error: unknown) => {
        this.#locking = undefined;
        throw error;
      },
    );
    return this.#locking;
  }

  /** In WAL mode readers and the writer do not wait for each other; the file keeps the mode. */
  async #opened(): Promise<SqliteHandle> {
    const handle = this.#open();
    try {
      neverWait(handle);
      const connection = new SqliteConnection(handle, OPENING_PATIENCE_MS, () => {});
      await connection.query("PRAGMA journal_mode = WAL");
      if (this.#isClosed) throw new Error("the source of SQLite connections is closed");
      return handle;
    } catch (error) {
      handle.close();
      throw error;
    }
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
