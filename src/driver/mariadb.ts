import { checkNumber, hasMethods } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, ConnectionSource } from "./connection.ts";
import type { GuardableMysqlClient } from "./guarded-mysql-client.ts";
import { type MysqlClient, MysqlConnection } from "./mysql-connection.ts";
import { killSession } from "./mysql-kill.ts";

/** A pool of `mariadb`. */
export interface MariadbPoolLike {
  getConnection(): Promise<MariadbConnectionLike>;
}

export interface MariadbConnectionLike extends GuardableMysqlClient {
  readonly threadId?: number | null;
  isValid?(): boolean;
  ping?(timeout?: number): Promise<void>;
  release(): Promise<void>;
  destroy(): void;
}

/** Settings of {@link fromMariadb}. */
export interface MariadbOptions {
  /**
   * The pool's `connectionLimit`, which it does not tell; then handlers never take its last connection.
   * Default: `mariadb`'s own, 10.
   */
  readonly max?: number;
}

/**
 * Connections to MariaDB or MySQL from a pool of `mariadb`. The pool stays yours: intray never ends it.
 *
 * Statements go as prepared ones, so no setting of the session changes what a value means. What the library reads
 * it reads as text, whatever `bigIntAsNumber`, `timezone` or `dateStrings` say; how a handler's own queries answer
 * numbers and times is as the pool is set. Their rows are objects by the columns' names, and no `typeCast` changes
 * what is in them, whatever the pool says; through `tx.client` all is as the pool is set.
 *
 * @example
 * import mariadb from "mariadb";
 * const source = fromMariadb(mariadb.createPool({ host: "localhost", database: "app", connectionLimit: 10 }));
 *
 * @throws TypeError or RangeError if the pool or an option has the wrong shape.
 */
export function fromMariadb(
  pool: MariadbPoolLike,
  options: MariadbOptions = {},
): ConnectionSource<"mysql"> {
  if (!hasMethods(pool, ["getConnection"]) || hasMethods(pool, ["promise"])) {
    throw new TypeError("fromMariadb: takes a pool of mariadb, such as mariadb.createPool(...)");
  }
  const { max = 10 } = options;
  return new MariadbSource(pool, checkNumber("max", max, { min: 1, max: 100_000 }));
}

class MariadbSource implements ConnectionSource<"mysql"> {
  readonly database = "mysql";
  readonly max: number;
  readonly #pool: MariadbPoolLike;

  constructor(pool: MariadbPoolLike, max: number) {
    this.#pool = pool;
    this.max = max;
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

function driverOf(client: MariadbConnectionLike, pool: MariadbPoolLike): MysqlClient {
  const { threadId } = client;
  return {
    client,
    query: (sql) => client.query({ ...AS_OBJECTS, sql }),
    execute: (sql, values) => client.execute({ ...AS_OBJECTS, sql }, [...values]),
    release: () => client.release(),
    destroy: () => close(client),
    kill: async (text) => {
      if (!threadId) return;
      await killSession(threadId, text, async () => driverOf(await pool.getConnection(), pool));
    },
  };
}

/**
 * With a statement running, `destroy()` has the session killed, and an answer that refuses it, as there is none any
 * more, is an unhandled rejection (3.5.4). A ping that is not answered closes the connection without a KILL; then
 * `destroy()` has the pool forget it.
 */
async function close(client: MariadbConnectionLike): Promise<void> {
  if (client.isValid?.()) await client.ping?.(1).catch(() => {});
  client.destroy();
}

/** Whatever the pool is set to. An id that no number holds would be an error behind an INSERT that is done. */
const AS_OBJECTS = {
  rowsAsArray: false,
  nestTables: false,
  namedPlaceholders: false,
  metaAsArray: false,
  insertIdAsNumber: false,
  typeCast: undefined,
} as const;
