import { isSessionLost, noteTransaction } from "../dialect/sqlserver/errors.ts";
import { asError, TransactionError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import type { QueryResult } from "./connection.ts";
import { FifoLock } from "./fifo-lock.ts";
import { type MssqlTypesLike, mssqlParameter, mssqlResult } from "./mssql-values.ts";

/**
 * The module `mssql` itself: its requests and its types are what parameters are sent with, and intray imports no
 * driver.
 */
export interface MssqlModuleLike {
  readonly Request: new (...args: never) => object;
  readonly TYPES: MssqlTypesLike;
  readonly MAX: number;
}

/** What of `tedious`'s connection is used; see {@link isTediousConnection}. */
export interface TediousConnection {
  on(event: string, listener: (...args: never) => void): unknown;
  removeListener(event: string, listener: (...args: never) => void): unknown;
  execSql(request: object): void;
  execSqlBatch(request: object): void;
  close(): void;
  /** What the server has said of the session's transaction: it tells each begin, commit and rollback. */
  readonly inTransaction?: unknown;
  currentTransactionDescriptor?(): unknown;
}

export function isTediousConnection(value: unknown): value is TediousConnection {
  return hasMethods(value, ["on", "removeListener", "execSql", "execSqlBatch", "close"]);
}

/** What the requests of one pool have in common. */
export interface MssqlSettings {
  readonly mssql: MssqlModuleLike;
  /** The pool's, which requests look at. */
  readonly config: object;
  /** Of each request, in milliseconds; 0 is none. */
  readonly requestTimeout: number;
}

/** A request of `mssql` for a statement. */
export interface MssqlRequest {
  input(name: string, type: object, value: unknown): unknown;
  query(text: string): Promise<unknown>;
  batch(text: string): Promise<unknown>;
}

/**
 * What stands in for the pool or the transaction that a request of `mssql` has as its parent: it asks that for the
 * connection, and tells it when it is done.
 */
export interface RequestParent {
  readonly config: object;
  readonly connected: boolean;
  acquire(
    requester: object,
    callback: (error: unknown, connection?: object, config?: object) => void,
  ): unknown;
  release(connection: object): unknown;
}

/**
 * One connection of `tedious` that is checked out, one request at a time: the protocol has no more, and the driver
 * refuses what comes meanwhile.
 *
 * It knows whether the transaction that was begun on it is still open, since the server tells the driver of each
 * begin, commit and rollback, whoever asked for it. What belongs into a transaction is never sent without it: a
 * statement of the handler's may have ended it, or an error that rolled it back and that nobody let pass. (Of a
 * rollback to a savepoint it tells nothing: Microsoft's own drivers forget the transaction when they are told of a
 * rollback, and go on in it after one to a savepoint.)
 *
 *     none --begun--> open --committed, rolled back--> none
 *                      |--the server says that it is over--> over     sends nothing until it is rolled back
 *                      \--no answer in time, or an answer lost--> broken
 *     any  --no answer in time, or an answer lost--> broken           sends nothing more, and is destroyed
 */
export class MssqlSession {
  readonly connection: TediousConnection;
  readonly settings: MssqlSettings;
  readonly #turns = new FifoLock();
  readonly #parent: RequestParent;
  #isOpen = false;
  /** The server tells of transactions; one that speaks this protocol and does not is asked at the commit alone. */
  #tells = false;
  /** Which one it is, as the driver names it to the server with each request. */
  #begun: string | undefined;
  #endedBy: unknown;
  #broken: Error | undefined;

  constructor(connection: TediousConnection, settings: MssqlSettings) {
    this.connection = connection;
    this.settings = settings;
    const { config } = settings;
    this.#parent = {
      config,
      connected: true,
      acquire: (_requester, callback) => callback(null, connection, config),
      release: () => undefined,
    };
  }

  /** Why the connection is in doubt. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Whether a transaction was begun here and has not been ended here. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** A request has failed: what is open may be over, or the connection in doubt. Notes on the error which it is. */
  failed(error: unknown): void {
    if (isSessionLost(error)) {
      this.#broken ??= asError(error);
    } else if (this.#isOpen && this.#tells) {
      const isOver = this.#isOver();
      if (isOver) this.#endedBy ??= error;
      noteTransaction(error, isOver);
    }
  }

  /** Waits until the connection is free, and answers the function that lets the next one have it. */
  turn(): Promise<() => void> {
    return this.#turns.acquire();
  }

  /** Why nothing can be sent now. */
  refusal(): Error | undefined {
    if (this.#broken !== undefined) {
      if (!this.#isOpen) return this.#broken;
      return new TransactionError(
        "a statement was given up before its answer came, and its transaction with it: nothing was committed",
        { cause: this.#broken },
      );
    }
    if (!this.#isOver()) return undefined;
    const cause = this.#endedBy === undefined ? {} : { cause: this.#endedBy };
    return new TransactionError(
      this.#endedBy === undefined
        ? "a statement has ended the transaction: what it wrote until then is committed or rolled back, and what comes now would not be part of it"
        : "an error has rolled the whole transaction back: what comes now would not be part of it",
      cause,
    );
  }

  /** A statement with parameters runs within `sp_executesql`, one without as a batch of its own. */
  async run<Row>(text: string, params: readonly unknown[] = []): Promise<QueryResult<Row>> {
    const request = this.#request();
    const { MAX, TYPES } = this.settings.mssql;
    params.forEach((value, index) => {
      const parameter = mssqlParameter(TYPES, MAX, value, index + 1);
      request.input(`p${index + 1}`, parameter.type, parameter.value);
    });
    const end = await this.turn();
    try {
      const refusal = this.refusal();
      if (refusal !== undefined) throw refusal;
      return mssqlResult<Row>(
        await this.#watched(params.length === 0 ? request.batch(text) : request.query(text)),
      );
    } finally {
      end();
    }
  }

  /** The transaction is open when this resolves. */
  async begin(text: string): Promise<void> {
    await this.run(text);
    this.#isOpen = true;
    this.#tells = this.connection.inTransaction === true;
    this.#begun = transactionOn(this.connection);
    this.#endedBy = undefined;
  }

  async commit(text: string): Promise<void> {
    try {
      await this.run(text);
      this.#isOpen = false;
    } catch (error) {
      // It was sent, and nobody knows what became of it.
      if (isSessionLost(error)) this.#isOpen = false;
      throw error;
    }
  }

  /** Never refused: where the connection is in doubt it is closed, which rolls back all the same. */
  async rollback(text: string): Promise<void> {
    this.#isOpen = false;
    if (this.#broken === undefined) await this.run(text);
    else this.connection.close();
  }

  /** None is open any more, or another one. */
  #isOver(): boolean {
    if (!this.#isOpen || !this.#tells) return false;
    return this.connection.inTransaction !== true || transactionOn(this.connection) !== this.#begun;
  }

  #request(): MssqlRequest {
    const { mssql, requestTimeout } = this.settings;
    const request = makeRequest(mssql, this.#parent, requestTimeout);
    // Whatever the pool is set to.
    return Object.assign(request, { stream: false, arrayRowMode: false });
  }

  async #watched<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }
}

function transactionOn(connection: TediousConnection): string | undefined {
  const descriptor: unknown = connection.currentTransactionDescriptor?.();
  return descriptor instanceof Uint8Array ? Buffer.from(descriptor).toString("hex") : undefined;
}

/** @throws TypeError if the module makes no such requests. */
export function makeRequest(
  mssql: MssqlModuleLike,
  parent: RequestParent,
  requestTimeout: number,
): MssqlRequest {
  const request: unknown = Reflect.construct(mssql.Request, [parent, { requestTimeout }]);
  if (isRequest(request)) return request;
  throw new TypeError("fromMssql: the module's Request has no input(), query() and batch()");
}

function isRequest(value: unknown): value is MssqlRequest {
  return hasMethods(value, ["input", "query", "batch"]);
}
