import { findTransactionControl, type TransactionControl } from "../driver/transaction-control.ts";
import { TransactionError } from "../errors.ts";
import { hasMethods, isObject } from "../options.ts";

/** What an integration needs of a handler's transaction; the `tx` of every handler has it. */
export interface OrmTransaction {
  /** The driver's own client on the transaction. Reading it throws once the handler has ended. */
  readonly client: unknown;
}

/** Sends one statement, whichever way the ORM calls `query`. */
type Send = (...args: unknown[]) => unknown;

type Callback = (error: unknown, result?: unknown) => void;

/** A nested transaction that is open: who began it, and the savepoint that it is. */
interface Nested {
  readonly owner: TransactionSession;
  readonly savepoint: string;
}

/**
 * What looks like a pool of `pg` to an ORM and is one transaction: each connection that is checked out
 * is that transaction, whose end is out of reach. BEGIN, COMMIT and ROLLBACK become savepoints.
 *
 * A pool and not just the client, for two reasons. ORMs take a connection of its own for each
 * transaction, which tells who a COMMIT belongs to: of two nested transactions that overlap (begun
 * side by side with `Promise.all`), the first COMMIT would release the other's savepoint, and a
 * ROLLBACK would keep half of its own work. That is refused here. And listeners and listings of
 * clients end here, instead of piling up on a client that goes back to the service's pool.
 */
export class TransactionPool {
  /** Drizzle looks for the word Pool in it; as a field it outlives a minifier. */
  static readonly name: string = "TransactionPool";
  /** Read by Prisma and by those who print a pool. */
  readonly options: object = {};
  readonly #send: Send;
  readonly #nested: Nested[] = [];
  #made = 0;
  #broken: TransactionError | undefined;

  constructor(send: Send) {
    this.#send = send;
  }

  connect(callback?: (error: null, client: object, release: () => void) => void): unknown {
    const session: TransactionSession = new TransactionSession((...args: unknown[]): unknown =>
      this.#query(session, args),
    );
    if (callback === undefined) return Promise.resolve(session);
    process.nextTick(callback, null, session, () => {});
    return undefined;
  }

  query(...args: unknown[]): unknown {
    return this.#query(undefined, args);
  }

  async end(): Promise<void> {}
  on(): this {
    return this;
  }
  once(): this {
    return this;
  }
  removeListener(): this {
    return this;
  }

  #query(session: TransactionSession | undefined, args: unknown[]): unknown {
    if (this.#broken !== undefined) return failed(args, this.#broken);
    const text = textOf(args[0]);
    const control = text === undefined ? undefined : findTransactionControl(text);
    if (control === undefined) return this.#send(...args);
    const result = this.#control(session, control);
    const callback = args.find(isCallback);
    if (callback === undefined) return result;
    result.then(
      (value) => process.nextTick(callback, null, value),
      (error: unknown) => process.nextTick(callback, error),
    );
    return undefined;
  }

  async #control(
    session: TransactionSession | undefined,
    control: TransactionControl,
  ): Promise<unknown> {
    if (session === undefined) throw refused(control, "take a connection for it");
    if (!control.isAlone) throw refused(control, "send it as a statement of its own");
    if (control.kind === "prepare" || control.chains) {
      throw refused(control, "a nested transaction cannot do that");
    }
    if (control.kind === "begin") return this.#begin(session);
    return this.#end(session, control);
  }

  async #begin(owner: TransactionSession): Promise<unknown> {
    const nested = { owner, savepoint: `intray_nested_${++this.#made}` };
    // Before it is sent, so that what is sent after it finds it.
    this.#nested.push(nested);
    try {
      return await this.#send(`SAVEPOINT ${nested.savepoint}`);
    } catch (error) {
      this.#nested.splice(this.#nested.indexOf(nested), 1);
      throw error;
    }
  }

  async #end(owner: TransactionSession, control: TransactionControl): Promise<unknown> {
    const last = this.#nested.at(-1);
    if (!this.#nested.some((nested) => nested.owner === owner) || last === undefined) {
      throw refused(
        control,
        "the transaction ends with the handler: return to commit, throw to roll back",
      );
    }
    if (last.owner !== owner) {
      this.#broken = new TransactionError(
        "two nested transactions of one handler overlapped, and neither can end without the other: await one before the next begins. Nothing more runs here; let the handler fail",
      );
      throw this.#broken;
    }
    this.#nested.pop();
    const release = `RELEASE SAVEPOINT ${last.savepoint}`;
    if (control.kind === "commit") return this.#send(release);
    // Both are sent at once: nothing of another session may come in between.
    const rolledBack = this.#send(`ROLLBACK TO SAVEPOINT ${last.savepoint}`);
    const released = this.#send(release);
    await Promise.all([rolledBack, released]);
    return rolledBack;
  }
}

/** What looks like a client of a pool. Knex and others write marks of their own on it. */
export class TransactionSession {
  readonly query: Send;

  constructor(query: Send) {
    this.query = query;
  }

  release(): void {}
  on(): this {
    return this;
  }
  once(): this {
    return this;
  }
  removeListener(): this {
    return this;
  }
}

/**
 * A pool over a transaction of `fromPg`.
 *
 * @param name the function that the service called, for the error.
 * @throws TypeError where the transaction has no client of `pg`.
 * @throws TransactionError where the handler has ended.
 */
export function pgPoolOn(name: string, tx: OrmTransaction): TransactionPool {
  if (!isPgClient(clientOf(name, tx))) {
    throw new TypeError(
      `${name} takes a handler's transaction whose tx.client is a client of pg: make the source with fromPg`,
    );
  }
  return new TransactionPool((...args) => {
    try {
      // Read again each time: it throws when the handler has ended, whoever made the source.
      const { client } = tx;
      if (isPgClient(client)) return client.query(...args);
      throw new TransactionError("the transaction has no client any more");
    } catch (error) {
      return failed(args, error);
    }
  });
}

/** @throws TypeError where it is no handler's transaction. */
export function clientOf(name: string, tx: OrmTransaction): unknown {
  if (!isObject(tx) || !("client" in tx)) {
    throw new TypeError(`${name} takes the handler's transaction (tx) first`);
  }
  return tx.client;
}

/** `connect` tells it from the `sql` of postgres.js and from PGlite. */
function isPgClient(value: unknown): value is { query: Send } {
  return isObject(value) && hasMethods(value, ["query", "connect", "release"]);
}

/** An answer to a query that could not be sent, the way that it was asked for. */
function failed(args: readonly unknown[], error: unknown): unknown {
  const callback = args.find(isCallback);
  const [query] = args;
  if (callback !== undefined) process.nextTick(callback, error);
  else if (isObject(query) && hasMethods(query, ["submit", "handleError"])) {
    process.nextTick(() => query.handleError(error));
    return query;
  } else return Promise.reject(error);
  return undefined;
}

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}

function textOf(query: unknown): string | undefined {
  if (typeof query === "string") return query;
  // A query object that the client drives is the guarded client's business.
  if (!isObject(query) || hasMethods(query, ["submit"])) return undefined;
  // mysql2 calls it sql.
  const text = query["text"] ?? query["sql"];
  return typeof text === "string" ? text : undefined;
}

function refused(control: TransactionControl, why: string): TransactionError {
  return new TransactionError(`${control.keyword} is refused here: ${why}`);
}
