import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { isLocked, SqliteConnection } from "./sqlite-connection.ts";
import type { SqliteHandle } from "./sqlite-handle.ts";
import type { SqliteLockKeeper } from "./sqlite-locks.ts";

/**
 * Locks on keys that hold across the processes which share a file, and end with their process. SQLite
 * locks whole files, so it takes two kinds of them, beside the database:
 *
 *     app.db-intray-locks    a database of which key is whose; one writer at a time makes each change one
 *     app.db-intray-<owner>  a database that its owner keeps locked: the lock ends with the process
 *
 * An owner is a source of connections that locks keys. It enters itself when its own file is locked, and
 * its name never comes again: an owner that is entered and whose file can be read, or is gone, is dead,
 * and stays so. So whoever finds it, how many at once, may take its keys and its file away.
 *
 * The first file stays, as nobody can tell who is about to open it; so does the file of a process that
 * died between locking and entering it.
 */
export class SqliteLockFile implements SqliteLockKeeper {
  readonly #file: string;
  readonly #handle: SqliteHandle;
  readonly #connection: SqliteConnection;
  readonly #owner: string = randomUUID();
  /** Keys of connections that are gone, which could not be released yet. */
  readonly #leaving = new Set<string>();
  /** When another owner was last found alive. */
  readonly #seen = new Map<string, number>();

  private constructor(file: string, handle: SqliteHandle, busyTimeoutMs: number) {
    this.#file = file;
    this.#handle = handle;
    this.#connection = new SqliteConnection(handle, busyTimeoutMs, () => {});
  }

  /** `handle`: a connection of its own to the database in `file`; it is closed where that fails. */
  static async open(
    file: string,
    handle: SqliteHandle,
    busyTimeoutMs: number,
  ): Promise<SqliteLockFile> {
    const locks = new SqliteLockFile(file, handle, busyTimeoutMs);
    try {
      await locks.#open();
      return locks;
    } catch (error) {
      locks.close();
      throw error;
    }
  }

  async #open(): Promise<void> {
    for (const [text, params] of [
      ["PRAGMA busy_timeout = 0"],
      ["ATTACH ? AS intray_locks", [`${this.#file}-intray-locks`]],
      ["PRAGMA intray_locks.journal_mode = WAL"],
      // A process that is killed loses nothing, and neither does a file that a power cut leaves its locks in.
      ["PRAGMA intray_locks.synchronous = NORMAL"],
      [
        "CREATE TABLE IF NOT EXISTS intray_locks.held (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
      ],
      ["CREATE TABLE IF NOT EXISTS intray_locks.owners (owner TEXT PRIMARY KEY) WITHOUT ROWID"],
      ["ATTACH ? AS intray_owner", [this.#fileOf(this.#owner)]],
      ["PRAGMA intray_owner.journal_mode = MEMORY"],
      // What a transaction has locked stays so when it ends.
      ["PRAGMA intray_owner.locking_mode = EXCLUSIVE"],
      ["CREATE TABLE intray_owner.alive (x)"],
      ["INSERT INTO intray_locks.owners (owner) VALUES (?)", [this.#owner]],
    ] as const) {
      await this.#connection.query(text, params);
    }
    await this.#buryDead("SELECT owner FROM intray_locks.owners WHERE owner <> ?");
  }

  async held(): Promise<readonly string[]> {
    await this.#leave();
    await this.#buryDead("SELECT DISTINCT owner FROM intray_locks.held WHERE owner <> ?");
    const { rows } = await this.#connection.query<{ key: string }>(
      "SELECT key FROM intray_locks.held",
    );
    return rows.map(({ key }) => key);
  }

  async tryLock(key: string): Promise<boolean> {
    await this.#leave();
    if (await this.#insert(key)) return true;
    const { rows } = await this.#connection.query<{ owner: string }>(
      "SELECT owner FROM intray_locks.held WHERE key = ?",
      [key],
    );
    const owner = rows[0]?.owner;
    if (owner === this.#owner || (owner !== undefined && !(await this.#isBuried(owner)))) {
      return false;
    }
    return await this.#insert(key);
  }

  async #insert(key: string): Promise<boolean> {
    const { rows } = await this.#connection.query(
      "INSERT INTO intray_locks.held (key, owner) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key",
      [key, this.#owner],
    );
    return rows.length === 1;
  }

  async unlock(key: string): Promise<boolean> {
    const { rows } = await this.#connection.query(
      "DELETE FROM intray_locks.held WHERE key = ? AND owner = ? RETURNING key",
      [key, this.#owner],
    );
    return rows.length === 1;
  }

  async letGo(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#leaving.add(key);
    // What fails is tried again before the next lock.
    await this.#leave().catch(() => {});
  }

  async #leave(): Promise<void> {
    for (const key of this.#leaving) {
      await this.unlock(key);
      this.#leaving.delete(key);
    }
  }

  async #buryDead(owners: string): Promise<void> {
    const { rows } = await this.#connection.query<{ owner: string }>(owners, [this.#owner]);
    for (const { owner } of rows) await this.#isBuried(owner);
  }

  /** Whether the owner is dead; then its keys are free. Who was just seen alive is not asked again. */
  async #isBuried(owner: string): Promise<boolean> {
    const now = performance.now();
    if (now < (this.#seen.get(owner) ?? Number.NEGATIVE_INFINITY) + SEEN_MS) return false;
    if (this.#isAlive(owner)) {
      this.#seen.set(owner, now);
      return false;
    }
    this.#seen.delete(owner);
    rmSync(this.#fileOf(owner), { force: true });
    await this.#connection.query("DELETE FROM intray_locks.held WHERE owner = ?", [owner]);
    await this.#connection.query("DELETE FROM intray_locks.owners WHERE owner = ?", [owner]);
    return true;
  }

  /** Nobody else can read the file of an owner that lives. In one turn of the event loop: the name is used again. */
  #isAlive(owner: string): boolean {
    const file = this.#fileOf(owner);
    if (!existsSync(file)) return false;
    try {
      this.#handle.run("ATTACH ? AS intray_other", [file]);
    } catch (error) {
      if (isLocked(error)) return true;
      throw error;
    }
    try {
      this.#handle.run("SELECT count(*) AS n FROM intray_other.sqlite_schema", []);
      return false;
    } catch (error) {
      if (isLocked(error)) return true;
      throw error;
    } finally {
      this.#handle.run("DETACH intray_other", []);
    }
  }

  #fileOf(owner: string): string {
    return `${this.#file}-intray-${owner}`;
  }

  /** Gives up all keys. Where the file of locks is locked just now, the next owner finds this one dead. */
  close(): void {
    try {
      this.#handle.run("DELETE FROM intray_locks.held WHERE owner = ?", [this.#owner]);
      this.#handle.run("DELETE FROM intray_locks.owners WHERE owner = ?", [this.#owner]);
    } catch {
      // See above.
    }
    this.#handle.close();
    rmSync(this.#fileOf(this.#owner), { force: true });
  }
}

/** Looking costs some 0.1 ms; a dead process's keys are free this much later. */
const SEEN_MS = 100;
