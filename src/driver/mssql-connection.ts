import { isTransactionOver, THROWN } from "../dialect/sqlserver/errors.ts";
import { begin, READ_COMMITTED } from "../dialect/sqlserver/transactions.ts";
import { TransactionError } from "../errors.ts";
import type { Connection, GuardedClient, QueryResult, Step } from "./connection.ts";
import { guardMssqlClient } from "./guarded-mssql-client.ts";
import type { MssqlSession } from "./mssql-session.ts";
import { noRows } from "./run-steps.ts";

/** A connection to SQL Server, checked out. */
export class MssqlConnection implements Connection {
  readonly database = "sqlserver";
  readonly destroysOnError = true;
  /** Steps go out one by one: a COMMIT behind one that failed is not sent. */
  readonly keepsFailedTransaction = true;
  readonly client: object;
  readonly #session: MssqlSession;
  readonly #giveBack: () => void;
  #isReleased = false;

  /** `giveBack`: to the pool, which takes a closed connection for what it is. */
  constructor(session: MssqlSession, giveBack: () => void) {
    this.#session = session;
    this.#giveBack = giveBack;
    this.client = session.connection;
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    return await this.#session.run<Row>(this.#prepared(text, params), params);
  }

  async begin(): Promise<void> {
    await this.#session.begin(begin(undefined).text);
  }

  async commit(): Promise<void> {
    try {
      await this.#session.commit(COMMIT);
    } catch (error) {
      if (!isTransactionOver(error)) throw error;
      throw new TransactionError(NOT_COMMITTED, { cause: error });
    }
  }

  async rollback(): Promise<void> {
    await this.#session.rollback(ROLLBACK);
  }

  /**
   * One after the other, as the protocol has it: each is a round trip. What this saves is that BEGIN carries the
   * session's settings with it.
   */
  async pipeline(steps: readonly Step[]): Promise<QueryResult[]> {
    const results: QueryResult[] = [];
    for (const step of steps) results.push(await this.#step(step));
    return results;
  }

  guardClient(open: () => Promise<void>): GuardedClient {
    return guardMssqlClient(this.#session, open);
  }

  /**
   * What runs still is waited for. A connection in doubt is closed: the server rolls back what is open on it, and
   * the pool finds it closed and makes another.
   */
  async release(error?: Error): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const session = this.#session;
    if (error === undefined) (await session.turn())();
    const isWhole = error === undefined && session.broken === undefined && !session.isOpen;
    if (!isWhole || session.connection.inTransaction === true) session.connection.close();
    this.#giveBack();
  }

  async #step(step: Step): Promise<QueryResult> {
    switch (step.kind) {
      case "query":
        return await this.query(step.text, step.params);
      case "begin":
        await this.#session.begin(step.text);
        return noRows();
      case "commit":
        await this.commit();
        return noRows();
      case "rollback":
        await this.rollback();
        return noRows();
    }
  }

  /**
   * Each statement puts NOCOUNT off, but for those that come first in their batch: where it is on, nothing says how
   * many rows a statement changed, and a server can make that the default, or a handler's own text. Outside of a
   * transaction it says the level too, which a session keeps from the last one that used it.
   */
  #prepared(text: string, params: readonly unknown[]): string {
    if (params.length === 0 && STANDS_FIRST.test(text)) return text;
    const level = this.#session.isOpen ? "" : `${READ_COMMITTED}; `;
    return `SET NOCOUNT OFF; ${level}${text}`;
  }
}

/** Views, procedures, triggers... and the plan of a statement. */
const STANDS_FIRST = /^(?:\s|--[^\n]*\n|\/\*[^*]*\*\/)*(?:CREATE|ALTER|SET\s+SHOWPLAN)/i;

/**
 * COMMIT by itself is no word for the end: behind a nested BEGIN TRANSACTION that is open still it only counts down,
 * and all would be rolled back when the session ends.
 */
const COMMIT = `IF @@TRANCOUNT = 1 AND XACT_STATE() = 1 COMMIT TRANSACTION;
ELSE BEGIN
  IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
  THROW ${THROWN.transactionOver}, N'the transaction is not the one that was begun: nothing was committed', 1;
END;
${READ_COMMITTED}`;

const ROLLBACK = `IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; ${READ_COMMITTED}`;

const NOT_COMMITTED =
  "the transaction was not there to commit: it was rolled back or ended before, or one that was begun within it is open still. Nothing was committed now.";
