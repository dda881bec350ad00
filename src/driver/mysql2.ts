import { hasMethods, isObject } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import type { GuardableMysqlClient } from "./guarded-mysql-client.ts";
import { type MysqlClient, MysqlConnection } from "./mysql-connection.ts";
import { killSession } from "./mysql-kill.ts";

/** A pool of `mysql2/promise`; one of `mysql2` itself has `promise()`, which answers such. */
export type Mysql2PoolLike = Mysql2PromisePoolLike | { promise(): Mysql2PromisePoolLike };

export interface Mysql2PromisePoolLike {
  getConnection(): Promise<Mysql2ConnectionLike>;
}

export interface Mysql2ConnectionLike extends GuardableMysqlClient {
  readonly threadId?: number | null;
  release(): void;
  destroy(): void;
}

/**
 * Connections to MySQL or MariaDB from a pool of `mysql2`. The pool stays yours: intray never ends it.
 *
 * Statements go as prepared ones, so no setting of the session changes what a value means. What the library reads
 * it reads as text, whatever `supportBigNumbers`, `timezone` or `dateStrings` say; how a handler's own queries answer
 * numbers and times is as the pool is set. Their rows are objects by the columns' names, and no `typeCast` changes
 * what is in them, whatever the pool says; through `tx.client` all is as the pool is set.
 *
 * @example
 * import mysql from "mysql2/promise";
 * const source = fromMysql2(mysql.createPool({ uri: "mysql://root@localhost/app", connectionLimit: 10 }));
 *
 * @throws TypeError if the pool has the wrong shape.
 */
export function fromMysql2(pool: Mysql2PoolLike): ConnectionSource<"mysql"> {
  if (hasMethods(pool, ["promise", "getConnection"])) return new Mysql2Source(promised(pool));
  if (isPromisePool(pool)) return new Mysql2Source(pool);
  throw new TypeError("fromMysql2: takes a pool of mysql2, such as mysql.createPool(...)");
}

function promised(pool: Record<"promise", (...args: never) => unknown>): Mysql2PromisePoolLike {
  const answer = Reflect.apply(pool.promise, pool, []);
  if (isPromisePool(answer)) return answer;
  throw new TypeError("fromMysql2: the pool's promise() answers no pool");
}

function isPromisePool(value: unknown): value is Mysql2PromisePoolLike {
  return hasMethods(value, ["getConnection"]);
}

class Mysql2Source implements ConnectionSource<"mysql"> {
  readonly database = "mysql";
  readonly max?: number;
  readonly #pool: Mysql2PromisePoolLike;

  constructor(pool: Mysql2PromisePoolLike) {
    this.#pool = pool;
    const max = limitOf(pool);
    if (max !== undefined) this.max = max;
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const opening = this.#pool
      .getConnection()
      .then((client) => new MysqlConnection(driverOf(client, this.#pool)));
    if (signal === undefined) return opening;
    return orAbort(opening, signal, (late) => void late.release());
  }
}

/** Where the pool says how many connections it has at most. */
function limitOf(pool: object): number | undefined {
  const core: unknown = Reflect.get(pool, "pool");
  const config: unknown = isObject(core) ? core["config"] : undefined;
  const limit: unknown = isObject(config) ? config["connectionLimit"] : undefined;
  // None is no limit.
  return typeof limit === "number" && limit > 0 ? limit : undefined;
}

const heard = new WeakSet<object>();

function driverOf(client: Mysql2ConnectionLike, pool: Mysql2PromisePoolLike): MysqlClient {
  hearErrors(client);
  const { threadId } = client;
  const options = castsValues(client) ? { ...AS_OBJECTS, typeCast: asItIs } : AS_OBJECTS;
  return {
    client,
    query: async (sql) => first(await client.query({ ...options, sql })),
    execute: async (sql, values) =>
      first(await client.execute({ ...options, sql, values: [...values] })),
    release: () => client.release(),
    destroy: () => client.destroy(),
    kill: async (text) => {
      if (!threadId) return;
      await killSession(threadId, text, async () => driverOf(await pool.getConnection(), pool));
    },
  };
}

/** Whatever the pool is set to. */
const AS_OBJECTS = { rowsAsArray: false, nestTables: false, namedPlaceholders: false } as const;

/** Takes the place of the pool's own, which nothing but a function does. */
function asItIs(_field: unknown, next: () => unknown): unknown {
  return next();
}

/** Whether the pool has a `typeCast` of its own, or takes all values for bytes. */
function castsValues(client: object): boolean {
  const core: unknown = Reflect.get(client, "connection");
  const config: unknown = isObject(core) ? core["config"] : undefined;
  const typeCast: unknown = isObject(config) ? config["typeCast"] : undefined;
  return typeCast !== undefined && typeCast !== true;
}

/** The driver's answer is a pair: what was answered, and its columns. */
function first(answer: unknown): unknown {
  return Array.isArray(answer) ? answer[0] : answer;
}

/** An error event without a listener would end the process; queries reject by themselves. */
function hearErrors(client: object): void {
  const core: unknown = Reflect.get(client, "connection");
  if (!isObject(core) || heard.has(core) || !hasMethods(core, ["on"])) return;
  heard.add(core);
  Reflect.apply(core.on, core, ["error", () => {}]);
}
