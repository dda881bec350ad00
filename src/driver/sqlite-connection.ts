import { endedTransaction } from "../dialect/sqlite/errors.ts";
import { TransactionError } from "../errors.ts";
import { isObject } from "../options.ts";
import type { Connection, QueryResult, Step } from "./connection.ts";
import { noRows } from "./run-steps.ts";
import { splitStatements } from "./sql-words.ts";
import { type SqliteHandle, sqliteValue } from "./sqlite-handle.ts";
import type { SqliteConnectionLocks } from "./sqlite-locks.ts";

/**
 * A connection to SQLite. The driver is synchronous, and the file has one writer; both matter here:
 *
 * - A locked file is never waited for inside of SQLite: that would stop the event loop, and with it the
 *   handler of this very process that holds the file. It is tried again, from a timer, for up to
 *   `busyTimeoutMs`.
 * - Between two statements the event loop gets its turn, at least every few milliseconds: claims, handlers
 *   and settlements that are all done at once would never let a timer or a socket in.
 */
export class SqliteConnection implements Connection {
  readonly database = "sqlite";
  readonly destroysOnError = true;
  readonly keepsFailedTransaction = true;
  readonly locks?: SqliteConnectionLocks;
  readonly #handle: SqliteHandle;
  readonly #busyTimeoutMs: number;
  #giveBack: ((error?: Error) => void) | undefined;
  #isOpen = false;

  constructor(
    handle: SqliteHandle,
    busyTimeoutMs: number,
    giveBack: (error?: Error) => void,
    locks?: SqliteConnectionLocks,
  ) {
    this.#handle = handle;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#giveBack = giveBack;
    if (locks !== undefined) this.locks = locks;
  }

  get client(): unknown {
    return this.#handle.client;
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    if (params.length === 0 && text.includes(";") && splitStatements(text).length > 1) {
      await this.#patiently(() => this.#handle.runAll(text));
      return noRows();
    }
    const values = params.map((value, index) => sqliteValue(value, index + 1));
    const { changes, rows } = await this.#patiently(() => this.#handle.run(text, values));
    // What the rows hold is the caller's word.
    return { rows: [...rows] as Row[], rowCount: changes };
  }

  async begin(text = "BEGIN"): Promise<void> {
    await this.query(text);
    this.#isOpen = true;
  }

  async commit(): Promise<void> {
    await this.query("COMMIT");
    this.#isOpen = false;
  }

  async rollback(): Promise<void> {
    await this.#patiently(() => rollBack(this.#handle));
    this.#isOpen = false;
  }

  async pipeline(steps: readonly Step[]): Promise<QueryResult[]> {
    const results: QueryResult[] = [];
    for (const step of steps) {
      if (step.kind === "query") results.push(await this.query(step.text, step.params));
      else {
        if (step.kind === "rollback") await this.rollback();
        else if (step.kind === "begin") await this.begin(step.text);
        else await this.commit();
        results.push(noRows());
      }
    }
    return results;
  }

  release(error?: Error): void | Promise<void> {
    const giveBack = this.#giveBack;
    this.#giveBack = undefined;
    giveBack?.(error);
    // After it: a key's next holder finds nothing of this transaction.
    return this.locks?.end();
  }

  /** ON CONFLICT ROLLBACK, a trigger or a full disk undo the whole transaction; no error says so. */
  #told(error: unknown): unknown {
    if (!this.#isOpen || hasTransaction(this.#handle)) return error;
    this.#isOpen = false;
    return endedTransaction(error);
  }

  async #patiently<T>(run: () => T): Promise<T> {
    await breathe();
    const until = performance.now() + this.#busyTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, MOST_WAIT_MS)) {
      if (this.#giveBack === undefined) throw new TransactionError("the connection was released");
      try {
        return run();
      } catch (error) {
        if (!isLocked(error) || performance.now() + waitMs > until) throw this.#told(error);
      }
      // A little by chance, so that two who wait do not go on meeting.
      await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
    }
  }
}

const MOST_WAIT_MS = 25;

/** Rolls back whatever is open; nothing may be, where an error has ended the transaction. */
export function rollBack(handle: SqliteHandle): void {
  try {
    handle.run("ROLLBACK", []);
  } catch (error) {
    if (!String(error).includes("no transaction is active")) throw error;
  }
}

/** Drivers tell this in ways of their own, or not at all; a second BEGIN fails on all of them. */
function hasTransaction(handle: SqliteHandle): boolean {
  try {
    handle.run("BEGIN", []);
  } catch {
    return true;
  }
  rollBack(handle);
  return false;
}

/**
 * Somebody else has the file, and it is worth trying again. Not where the transaction reads a state that
 * another has changed since (SQLITE_BUSY_SNAPSHOT): it stays so, whoever waits.
 */
export function isLocked(error: unknown): boolean {
  if (!isObject(error)) return false;
  const { code, errcode, rawCode } = error;
  if (code === "SQLITE_BUSY_SNAPSHOT" || errcode === SNAPSHOT || rawCode === SNAPSHOT) return false;
  const isBusy = typeof code === "string" && code.startsWith("SQLITE_BUSY");
  return isBusy || (typeof errcode === "number" && (errcode & 0xff) === BUSY);
}

const BUSY = 5;
const SNAPSHOT = 517;

let turnEndsAt = 0;

/** Lets the event loop have its turn, if its last one is a while ago. */
async function breathe(): Promise<void> {
  if (performance.now() < turnEndsAt) return;
  await new Promise((resolve) => setImmediate(resolve));
  turnEndsAt = performance.now() + LONGEST_TURN_MS;
}

/** Some dozens of statements. */
const LONGEST_TURN_MS = 4;
