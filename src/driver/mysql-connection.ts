import {
  endedTransaction,
  endsTransaction,
  isLockTimeout,
  isSessionLost,
  timeoutEnds,
} from "../dialect/mysql/errors.ts";
import { asError, TransactionError } from "../errors.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, GuardedClient, QueryResult } from "./connection.ts";
import { type GuardableMysqlClient, guardMysqlClient } from "./guarded-mysql-client.ts";
import { mysqlResult, mysqlValue } from "./mysql-values.ts";
import { noRows } from "./run-steps.ts";
import { splitStatements } from "./sql-words.ts";

/** What the connections of both drivers do. */
export interface MysqlClient {
  readonly client: GuardableMysqlClient;
  /** By the text protocol, which takes every statement. */
  query(text: string): Promise<unknown>;
  /** As a prepared statement: no value ever stands in the text. */
  execute(text: string, params: readonly unknown[]): Promise<unknown>;
  release(): void | Promise<void>;
  /** Closes the connection at once, whatever is running on it. */
  destroy(): void | Promise<void>;
  /** Ends the closed connection's session, which was at work on that text. Left out: the server sees to it. */
  kill?(text: string): Promise<void>;
}

/**
 * A connection to MySQL or MariaDB, checked out. Statements with parameters are prepared on the server, where
 * the drivers keep them: a value that is put into the text by the client depends on what the session's
 * settings make of backslashes.
 */
export class MysqlConnection implements Connection {
  readonly database = "mysql";
  readonly destroysOnError = true;
  readonly #driver: MysqlClient;
  #isOpen = false;
  #broken: Error | undefined;
  #isReleased = false;
  /** What was sent and is not answered yet, in order. */
  readonly #inFlight = new Set<{ readonly text: string }>();
  readonly #givenUp = new AbortController();

  constructor(driver: MysqlClient) {
    this.#driver = driver;
  }

  get client(): unknown {
    return this.#driver.client;
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    if (params.length === 0) {
      if (text.includes(";") && splitStatements(text).length > 1) {
        return await this.#all<Row>(text);
      }
      return mysqlResult<Row>(await this.#watched(text));
    }
    const values = params.map((value, index) => mysqlValue(value, index + 1));
    return mysqlResult<Row>(await this.#watched(text, values));
  }

  async begin(): Promise<void> {
    await this.#watched("START TRANSACTION");
    this.#isOpen = true;
  }

  async commit(): Promise<void> {
    await this.#watched("COMMIT");
    this.#isOpen = false;
  }

  async rollback(): Promise<void> {
    await this.#watched("ROLLBACK");
    this.#isOpen = false;
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardMysqlClient(this.#driver.client, {
      open,
      explored: (error) => this.#explored(error),
      sent: (text, answer) => this.#sent(text, answer),
    });
  }

  async release(error?: Error): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const reason =
      error ??
      this.#broken ??
      (this.#isOpen ? new TransactionError("released within a transaction") : undefined);
    if (reason === undefined) await this.#driver.release();
    else await this.#giveUp(reason);
  }

  /** What is running would go on, and hold its locks: a server does not look whether a client is there still. */
  async #giveUp(reason: Error): Promise<void> {
    const [running] = this.#inFlight;
    this.#givenUp.abort(reason);
    await this.#driver.destroy();
    if (running !== undefined) await this.#driver.kill?.(running.text);
  }

  /** Text of several statements the server takes only where the application has allowed it. */
  async #all<Row>(text: string): Promise<QueryResult<Row>> {
    const answer = await this.#watched(text);
    const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
    return Array.isArray(last) ? mysqlResult<Row>(last) : noRows();
  }

  /** What a lock wait timeout has undone is the server's setting to say (`innodb_rollback_on_timeout`). */
  async #explored(error: unknown): Promise<void> {
    if (this.#givenUp.signal.aborted || !isLockTimeout(error)) return;
    try {
      const { rows } = mysqlResult(await this.#driver.query(timeoutEnds));
      if (rows.length > 0) endedTransaction(error);
    } catch {
      // What is wrong here the next statement meets, too.
    }
  }

  /** A pool may take a connection back before it knows that it is gone. */
  async #watched(text: string, values?: readonly unknown[]): Promise<unknown> {
    const answer =
      values === undefined ? this.#driver.query(text) : this.#driver.execute(text, values);
    try {
      return await this.#sent(text, answer);
    } catch (error) {
      await this.#explored(error);
      if (isSessionLost(error)) this.#broken ??= asError(error);
      if (endsTransaction(error)) this.#isOpen = false;
      throw error;
    }
  }

  /** The drivers leave the promises of a closed connection open. */
  async #sent<T>(text: string, answer: Promise<T>): Promise<T> {
    const entry = { text };
    this.#inFlight.add(entry);
    try {
      return await orAbort(answer, this.#givenUp.signal);
    } finally {
      this.#inFlight.delete(entry);
    }
  }
}
