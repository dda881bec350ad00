import {
  endedTransaction,
  endsTransaction,
  isLockTimeout,
  isSessionLost,
  timeoutEnds,
} from "../dialect/mysql/errors.ts";
import { asError, TransactionError } from "../errors.ts";
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
  destroy(): void;
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
      return mysqlResult<Row>(await this.#watched(this.#driver.query(text)));
    }
    const values = params.map((value, index) => mysqlValue(value, index + 1));
    return mysqlResult<Row>(await this.#watched(this.#driver.execute(text, values)));
  }

  async begin(): Promise<void> {
    await this.#watched(this.#driver.query("START TRANSACTION"));
    this.#isOpen = true;
  }

  async commit(): Promise<void> {
    await this.#watched(this.#driver.query("COMMIT"));
    this.#isOpen = false;
  }

  async rollback(): Promise<void> {
    await this.#watched(this.#driver.query("ROLLBACK"));
    this.#isOpen = false;
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardMysqlClient(this.#driver.client, open, (error) => this.#explored(error));
  }

  async release(error?: Error): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const reason =
      error ??
      this.#broken ??
      (this.#isOpen ? new TransactionError("released within a transaction") : undefined);
    if (reason === undefined) await this.#driver.release();
    else this.#driver.destroy();
  }

  /** Text of several statements the server takes only where the application has allowed it. */
  async #all<Row>(text: string): Promise<QueryResult<Row>> {
    const answer = await this.#watched(this.#driver.query(text));
    const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
    return Array.isArray(last) ? mysqlResult<Row>(last) : noRows();
  }

  /** What a lock wait timeout has undone is the server's setting to say (`innodb_rollback_on_timeout`). */
  async #explored(error: unknown): Promise<void> {
    if (!isLockTimeout(error)) return;
    try {
      const { rows } = mysqlResult(await this.#driver.query(timeoutEnds));
      if (rows.length > 0) endedTransaction(error);
    } catch {
      // What is wrong here the next statement meets, too.
    }
  }

  /** A pool may take a connection back before it knows that it is gone. */
  async #watched<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      await this.#explored(error);
      if (isSessionLost(error)) this.#broken ??= asError(error);
      if (endsTransaction(error)) this.#isOpen = false;
      throw error;
    }
  }
}
