/**
 * `intray/knex`: a Knex on a handler's transaction.
 *
 * @module
 */
import { type KnexLike, knexCopyOn } from "./knex-copy.ts";
import type { OrmTransaction } from "./transaction-pool.ts";

export type { KnexLike } from "./knex-copy.ts";
export type { OrmTransaction } from "./transaction-pool.ts";

/**
 * The service's Knex, with all its settings, whose queries run in the handler's transaction. Its
 * `transaction()` is a savepoint, `destroy` does nothing, and when the handler has ended it refuses
 * queries.
 *
 * Takes the transactions of `fromPg`, and a Knex of the clients `pg` and `postgres`; or those of `fromMysql2`, and a
 * Knex of the client `mysql2`.
 *
 * @param knex is left as it is; its pool is not used.
 * @throws TypeError where the transaction has no client of pg or mysql2, or the Knex is for another database.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const db = knexOn(tx, knex);
 *   await db("orders").insert({ id: message.id });
 * });
 */
export function knexOn<K extends KnexLike>(tx: OrmTransaction, knex: K): K {
  return knexCopyOn("knexOn", tx, knex, ["pg", "mysql2"]);
}
