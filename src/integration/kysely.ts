/**
 * `intray/kysely`: a Kysely on a handler's transaction.
 *
 * @module
 */
import { hasMethods } from "../options.ts";
import {
  isMysqlTransaction,
  type MysqlTransactionPool,
  mysqlPoolOn,
} from "./mysql-transaction-pool.ts";
import { clientOf, type OrmTransaction, pgPoolOn, TransactionPool } from "./transaction-pool.ts";

export type { OrmTransaction } from "./transaction-pool.ts";

/** Settings of the Kysely that {@link kyselyOn} makes; the same as of `new Kysely`. */
export interface KyselyOnOptions {
  readonly plugins?: readonly object[];
  readonly log?: readonly ("query" | "error")[] | ((event: never) => void);
}

/**
 * A Kysely whose queries run in the handler's transaction. Its `transaction()` is a savepoint, and
 * when the handler has ended it refuses queries. The classes are the service's own: intray imports
 * no Kysely.
 *
 * Takes the transactions of `fromPg` and of `fromPostgresJs`, and with `MysqlDialect` those of `fromMysql2`.
 *
 * @param Kysely the class, with the service's tables: `Kysely<Database>`.
 * @param Dialect the class `PostgresDialect`, or on MySQL and MariaDB `MysqlDialect`.
 * @throws TypeError where the transaction has no client of pg, postgres.js or mysql2.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const db = kyselyOn(tx, Kysely<Database>, PostgresDialect);
 *   await db.insertInto("orders").values({ id: message.id }).execute();
 * });
 */
export function kyselyOn<Db extends object>(
  tx: OrmTransaction,
  Kysely: new (config: never) => Db,
  Dialect: new (config: never) => object,
  options: KyselyOnOptions = {},
): Db {
  if (typeof Kysely !== "function" || typeof Dialect !== "function") {
    throw new TypeError(
      "kyselyOn takes the classes Kysely and PostgresDialect (or MysqlDialect): kyselyOn(tx, Kysely<Database>, PostgresDialect)",
    );
  }
  const dialect: object = Reflect.construct(Dialect, [{ pool: poolOn(tx) }]);
  return Reflect.construct(Kysely, [{ ...options, dialect }]);
}

function poolOn(tx: OrmTransaction): TransactionPool | MysqlTransactionPool {
  if (isMysqlTransaction("kyselyOn", tx)) return mysqlPoolOn("kyselyOn", tx);
  const client = clientOf("kyselyOn", tx);
  if (!isPostgresJs(client)) return pgPoolOn("kyselyOn", tx);
  return new TransactionPool(async (text, values) => {
    if (typeof text !== "string") throw new TypeError("streams are not to be had on postgres.js");
    const rows = await client.unsafe(text, Array.isArray(values) ? values : []);
    return { rows: [...rows], rowCount: rows.count, command: rows.command };
  });
}

interface PostgresJs {
  unsafe(
    text: string,
    values: unknown[],
  ): PromiseLike<unknown[] & { readonly count: number | null; readonly command: string | null }>;
}

function isPostgresJs(value: unknown): value is PostgresJs {
  return typeof value === "function" && hasMethods(value, ["unsafe", "savepoint"]);
}
