import { TransactionError } from "../errors.ts";
import { hasMethods, isObject } from "../options.ts";
import { clientOf, type OrmTransaction, TransactionPool } from "./transaction-pool.ts";

type Query = (...args: unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown, columns?: unknown) => void;

/**
 * What looks like a pool of `mysql2` to an ORM, with promises and with callbacks, and is one transaction: each
 * connection that is checked out is that transaction, whose end is out of reach. What nests in it is the business
 * of {@link TransactionPool}.
 */
export class MysqlTransactionPool {
  readonly query: Query;
  readonly execute: Query;
  readonly #transaction: TransactionPool;

  constructor(transaction: TransactionPool) {
    this.#transaction = transaction;
    this.query = eitherWay((...args) => transaction.query(...args));
    this.execute = eitherWay(executed((...args) => transaction.query(...args)));
  }

  getConnection(callback?: (error: null, connection: MysqlTransactionSession) => void): unknown {
    const session = this.session();
    if (callback === undefined) return Promise.resolve(session);
    process.nextTick(callback, null, session);
    return undefined;
  }

  session(): MysqlTransactionSession {
    const coming = this.#transaction.connect();
    return new MysqlTransactionSession(async (...args) => {
      const session = await coming;
      if (!hasMethods(session, ["query"])) throw new TypeError("the transaction has no session");
      return await session.query(...args);
    });
  }

  promise(): this {
    return this;
  }

  end(callback?: (error: null) => void): Promise<void> {
    if (callback !== undefined) process.nextTick(callback, null);
    return Promise.resolve();
  }

  on(): this {
    return this;
  }
}

/** What looks like a connection of the pool. Knex writes marks of its own on it. */
export class MysqlTransactionSession {
  readonly query: Query;
  readonly execute: Query;

  constructor(send: Query) {
    this.query = eitherWay(send);
    this.execute = eitherWay(executed(send));
  }

  promise(): this {
    return this;
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

/** With a callback last as without promises, or answering a promise. */
function eitherWay(send: Query): Query {
  return (...args) => {
    const callback = args.at(-1);
    if (!isCallback(callback)) return send(...args);
    Promise.resolve(send(...args.slice(0, -1))).then(
      (answer) => {
        const [result, columns] = Array.isArray(answer) ? answer : [answer];
        process.nextTick(callback, null, result, columns);
      },
      (error: unknown) => process.nextTick(callback, error),
    );
    return undefined;
  };
}

function executed(send: Query): Query {
  return (sql, values) => send(sql, values, PREPARED);
}

/** Goes behind the values of a statement that is to be prepared. */
const PREPARED = "prepared";

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}

/** Whether the transaction is of `fromMysql2` or `fromMariadb`. */
export function isMysqlTransaction(name: string, tx: OrmTransaction): boolean {
  return hasMethods(clientOf(name, tx), ["query", "execute", "beginTransaction"]);
}

/**
 * A pool over a transaction of `fromMysql2`.
 *
 * @param name the function that the service called, for the error.
 * @throws TypeError where the transaction has no client of `mysql2`.
 * @throws TransactionError where the handler has ended.
 */
export function mysqlPoolOn(name: string, tx: OrmTransaction): MysqlTransactionPool {
  if (!isMysql2Client(clientOf(name, tx))) {
    throw new TypeError(
      `${name} takes a handler's transaction whose tx.client is a client of mysql2: make the source with fromMysql2`,
    );
  }
  const send = async (what: unknown, values: unknown, way: unknown): Promise<unknown> => {
    // The transaction is open, and its level is what it is.
    if (SETS_LEVEL.test(textOf(what))) return [{ affectedRows: 0, insertId: 0 }, undefined];
    // Read again each time: it throws when the handler has ended, whoever made the source.
    const { client } = tx;
    if (!isMysql2Client(client))
      throw new TransactionError("the transaction has no client any more");
    const args = values === undefined ? [what] : [what, values];
    return await (way === PREPARED ? client.execute(...args) : client.query(...args));
  };
  return new MysqlTransactionPool(new TransactionPool(send));
}

const SETS_LEVEL = /^\s*set\s+transaction\s/i;

function textOf(what: unknown): string {
  if (typeof what === "string") return what;
  return isObject(what) && typeof what["sql"] === "string" ? what["sql"] : "";
}

function isMysql2Client(value: unknown): value is Record<"query" | "execute", Query> {
  return (
    hasMethods(value, ["query", "execute", "beginTransaction"]) &&
    Reflect.get(value, "driver") === "mysql2"
  );
}
