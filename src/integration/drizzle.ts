/**
 * `intray/drizzle`: a Drizzle database on a handler's transaction.
 *
 * @module
 */
import { hasMethods } from "../options.ts";
import { isMysqlTransaction, mysqlPoolOn } from "./mysql-transaction-pool.ts";
import { clientOf, type OrmTransaction, pgPoolOn } from "./transaction-pool.ts";

export type { OrmTransaction } from "./transaction-pool.ts";

/**
 * A Drizzle database whose queries run in the handler's transaction. Its `transaction()` is a
 * savepoint, and when the handler has ended it refuses queries. The `drizzle` function is the
 * service's own, with whatever settings it takes: intray imports no Drizzle.
 *
 * Takes the transactions of `fromPg` (with `drizzle` of `drizzle-orm/node-postgres`), of
 * `fromPostgresJs` (with that of `drizzle-orm/postgres-js`) and of `fromMysql2` (`drizzle-orm/mysql2`).
 *
 * @param make makes the database on the client that it is given. The client's type is `never` so that
 * it fits either driver's.
 * @throws TypeError where the transaction has no client of pg, postgres.js or mysql2.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const db = drizzleOn(tx, (client) => drizzle({ client, schema }));
 *   await db.insert(schema.orders).values({ id: message.id });
 * });
 */
export function drizzleOn<Db extends object>(tx: OrmTransaction, make: (client: never) => Db): Db {
  if (typeof make !== "function") {
    throw new TypeError(
      "drizzleOn takes a function second: drizzleOn(tx, (client) => drizzle({ client, schema }))",
    );
  }
  if (isMysqlTransaction("drizzleOn", tx)) {
    return Reflect.apply(make, undefined, [mysqlPoolOn("drizzleOn", tx)]);
  }
  const client = clientOf("drizzleOn", tx);
  const isPostgresJs = typeof client === "function" && hasMethods(client, ["unsafe", "savepoint"]);
  return Reflect.apply(make, undefined, [
    // The `sql` of postgres.js nests by itself: its `begin` is a savepoint of its guard's.
    isPostgresJs ? client : pgPoolOn("drizzleOn", tx),
  ]);
}
