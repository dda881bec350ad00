import { hasMethods, isObject, shown } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import { MssqlConnection } from "./mssql-connection.ts";
import {
  isTediousConnection,
  type MssqlModuleLike,
  MssqlSession,
  type MssqlSettings,
  type TediousConnection,
} from "./mssql-session.ts";
import type { MssqlTypesLike } from "./mssql-values.ts";

export type { GuardedMssqlTransaction } from "./guarded-mssql-client.ts";
export type { MssqlModuleLike, MssqlTypesLike };

/** A pool of `mssql`: `new sql.ConnectionPool(...)`. */
export interface MssqlPoolLike {
  readonly connected: boolean;
  connect(): Promise<unknown>;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/** What a pool has beside its published types: that by which its own transactions get their connections. */
interface LendingPool extends MssqlPoolLike {
  readonly config: object;
  acquire(requester: object): PromiseLike<unknown>;
  release(connection: object): unknown;
}

/**
 * Connections to SQL Server or Azure SQL from a pool of `mssql` on `tedious`, its default driver. The pool stays
 * yours: intray never closes it. One that is not connected yet is connected at the first use.
 *
 * A statement has 30 seconds, twice as many as `mssql` gives by default; the pool's `requestTimeout` may say more,
 * or 0 for no limit. A statement that is given up takes its connection with it, so that nothing stays locked.
 *
 * @example
 * import sql from "mssql";
 * const source = fromMssql(sql, new sql.ConnectionPool({ server: "localhost", database: "app", user, password }));
 *
 * @throws TypeError if the module or the pool has the wrong shape, RangeError if the pool is set to what the queue
 * cannot work with: a `requestTimeout` under 30 seconds, `enableImplicitTransactions`.
 */
export function fromMssql(
  mssql: MssqlModuleLike,
  pool: MssqlPoolLike,
): ConnectionSource<"sqlserver"> {
  const module = moduleIn(mssql);
  if (module === undefined) {
    throw new TypeError("fromMssql: takes the module mssql first: fromMssql(sql, pool)");
  }
  if (!isPool(pool)) {
    throw new TypeError(
      "fromMssql: takes a pool of mssql second, such as new sql.ConnectionPool(...)",
    );
  }
  return new MssqlSource(module, pool);
}

/** `import * as sql` has what CommonJS exports under `default`. */
function moduleIn(value: unknown): MssqlModuleLike | undefined {
  if (isModule(value)) return value;
  const main: unknown = isObject(value) ? value["default"] : undefined;
  return isModule(main) ? main : undefined;
}

function isModule(value: unknown): value is MssqlModuleLike {
  if (!hasMethods(value, ["Request"])) return false;
  return typeof Reflect.get(value, "MAX") === "number" && isObject(Reflect.get(value, "TYPES"));
}

function isPool(value: unknown): value is LendingPool {
  return (
    hasMethods(value, ["connect", "acquire", "release", "on"]) &&
    isObject(Reflect.get(value, "config"))
  );
}

class MssqlSource implements ConnectionSource<"sqlserver"> {
  readonly database = "sqlserver";
  readonly max: number;
  readonly #pool: LendingPool;
  readonly #settings: MssqlSettings;
  #connecting: Promise<unknown> | undefined;
  #wasConnected = false;

  constructor(mssql: MssqlModuleLike, pool: LendingPool) {
    const { config } = pool;
    this.#pool = pool;
    this.max = limitOf(config);
    refuseImplicitTransactions(config);
    this.#settings = { mssql, config, requestTimeout: requestTimeoutOf(config) };
    hearErrors(pool);
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const opening = this.#open();
    if (signal === undefined) return opening;
    return orAbort(opening, signal, (late) => void late.release());
  }

  async #open(): Promise<MssqlConnection> {
    await this.#connected();
    const connection = await this.#acquire();
    const session = new MssqlSession(connection, this.#settings);
    return new MssqlConnection(session, () => void this.#pool.release(connection));
  }

  /** A pool that was closed is not opened again: that was its owner's word. */
  async #connected(): Promise<void> {
    if (!this.#wasConnected && !this.#pool.connected) {
      this.#connecting ??= this.#pool.connect();
      try {
        await this.#connecting;
      } finally {
        this.#connecting = undefined;
      }
    }
    this.#wasConnected = true;
  }

  async #acquire(): Promise<TediousConnection> {
    for (;;) {
      const connection = await this.#pool.acquire(this);
      if (!isTediousConnection(connection)) {
        if (isObject(connection)) this.#pool.release(connection);
        throw new TypeError(
          "fromMssql: the pool lends no connections of tedious; import mssql itself, not mssql/msnodesqlv8",
        );
      }
      if (connection.inTransaction !== true) return connection;
      // Somebody gave it back with a transaction open: another one would only be counted within that.
      connection.close();
      this.#pool.release(connection);
    }
  }
}

/** The pool's own default where it is not told. */
function limitOf(config: object): number {
  const pool: unknown = Reflect.get(config, "pool");
  const max: unknown = isObject(pool) ? pool["max"] : undefined;
  return typeof max === "number" && max > 0 ? max : 10;
}

/** With them each statement begins a transaction that nobody ends: what is to commit by itself never would. */
function refuseImplicitTransactions(config: object): void {
  const options: unknown = Reflect.get(config, "options");
  if (isObject(options) && options["enableImplicitTransactions"] === true) {
    throw new RangeError(
      "fromMssql: the pool's options.enableImplicitTransactions takes false, not true",
    );
  }
}

/** A claim waits up to 10 s for a lock, and then works; the contract of the inbox says 30. */
const LEAST_TIMEOUT_MS = 30_000;

/** What the pool says, read as it reads it; where it does not, more than its own default. */
function requestTimeoutOf(config: object): number {
  const options: unknown = Reflect.get(config, "options");
  const said: unknown =
    (isObject(options) ? options["requestTimeout"] : undefined) ??
    Reflect.get(config, "requestTimeout") ??
    Reflect.get(config, "timeout");
  if (typeof said !== "number" || Number.isNaN(said)) return LEAST_TIMEOUT_MS;
  if (said <= 0 || said === Number.POSITIVE_INFINITY) return 0;
  if (said >= LEAST_TIMEOUT_MS) return said;
  throw new RangeError(
    `fromMssql: the pool's requestTimeout takes ${LEAST_TIMEOUT_MS} milliseconds or more, or 0 for none, not ${shown(said)}: a claim may wait 10 seconds for a lock before it begins its work`,
  );
}

const heard = new WeakSet<object>();

/**
 * The pool passes on the errors of its connections, idle ones and those that are closed while a statement runs;
 * without a listener each would end the process. Whoever waits for a statement hears of it there.
 */
function hearErrors(pool: LendingPool): void {
  if (heard.has(pool)) return;
  heard.add(pool);
  pool.on("error", () => {});
}
