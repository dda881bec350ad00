import { TransactionError } from "../errors.ts";
import type { ConnectionLocks } from "./connection.ts";

/** Who keeps the keys that the connections of a source hold. */
export interface SqliteLockKeeper {
  held(): Promise<readonly string[]>;
  tryLock(key: string): Promise<boolean>;
  /** Answers whether it was locked. */
  unlock(key: string): Promise<boolean>;
  /** Releases what a connection held that is gone; whatever stands in the way now, in the end they are free. */
  letGo(keys: readonly string[]): Promise<void>;
  close(): void;
}

/** Of a database that no other process reaches. */
export class MemoryLocks implements SqliteLockKeeper {
  readonly #keys = new Set<string>();

  async held(): Promise<readonly string[]> {
    return [...this.#keys];
  }

  async tryLock(key: string): Promise<boolean> {
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }

  async unlock(key: string): Promise<boolean> {
    return this.#keys.delete(key);
  }

  async letGo(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#keys.delete(key);
  }

  close(): void {}
}

/** The keys of one connection, which end with it, as a session's locks do elsewhere. */
export class SqliteConnectionLocks implements ConnectionLocks {
  readonly #keeper: () => Promise<SqliteLockKeeper>;
  readonly #keys = new Set<string>();
  #isOver = false;

  constructor(keeper: () => Promise<SqliteLockKeeper>) {
    this.#keeper = keeper;
  }

  async held(): Promise<readonly string[]> {
    return await (await this.#keeper()).held();
  }

  async tryLock(key: string): Promise<boolean> {
    const keeper = await this.#keeper();
    if (!(await keeper.tryLock(key))) return false;
    if (this.#isOver) {
      // Released meanwhile, by somebody who did not wait for the answer.
      await keeper.letGo([key]);
      throw new TransactionError("the connection was released");
    }
    this.#keys.add(key);
    return true;
  }

  async unlock(key: string): Promise<boolean> {
    if (!this.#keys.has(key)) return false;
    const isConfirmed = await (await this.#keeper()).unlock(key);
    this.#keys.delete(key);
    return isConfirmed;
  }

  /** The connection is gone, and rolled back: nothing of it is held any more. */
  end(): Promise<void> | undefined {
    this.#isOver = true;
    const left = [...this.#keys];
    this.#keys.clear();
    if (left.length === 0) return undefined;
    return this.#keeper().then((keeper) => keeper.letGo(left));
  }
}
