/**
 * `intray/mikro-orm`: a MikroORM entity manager on a handler's transaction.
 *
 * @module
 */

import { TransactionError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import { type KnexLike, knexCopyOn } from "./knex-copy.ts";
import type { OrmTransaction } from "./transaction-pool.ts";

export type { OrmTransaction } from "./transaction-pool.ts";

/** What intray needs of the service's MikroORM, structurally. */
export interface MikroOrmLike<Manager> {
  readonly em: Manager;
}

/** What intray needs of an entity manager of a Knex driver, structurally. */
export interface EntityManagerLike {
  fork(): this;
  getConnection(): { getKnex(): KnexLike };
  setTransactionContext(context: unknown): void;
}

/**
 * A fork of the entity manager whose queries run in the handler's transaction. `flush` before the
 * handler returns; its `transactional()` is a savepoint; `commit` and `rollback` of the fork itself
 * are refused, and when the handler has ended so is every query.
 *
 * Takes the transactions of `fromPg`, and a MikroORM 6 of `@mikro-orm/postgresql`.
 *
 * @throws TypeError where the transaction has no client of pg, or the MikroORM is for another database.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const em = mikroOrmOn(tx, orm);
 *   em.create(Order, { id: message.id });
 *   await em.flush();
 * });
 */
export function mikroOrmOn<Manager extends EntityManagerLike>(
  tx: OrmTransaction,
  orm: MikroOrmLike<Manager>,
): Manager {
  const connection = hasMethods(orm?.em, ["fork", "getConnection", "setTransactionContext"])
    ? orm.em.getConnection()
    : undefined;
  if (connection === undefined || !hasMethods(connection, ["getKnex"])) {
    throw new TypeError("mikroOrmOn takes a MikroORM 6 of @mikro-orm/postgresql second");
  }
  const context = knexCopyOn("mikroOrmOn", tx, connection.getKnex());
  // What MikroORM keeps as its transaction is a Knex that is in one: it then nests with savepoints.
  Object.assign(Object(context.client), { transacting: true });
  Object.assign(context, { isTransaction: true, commit: refuse, rollback: refuse });
  const em = orm.em.fork();
  em.setTransactionContext(context);
  return em;
}

function refuse(): never {
  throw new TransactionError(
    "commit and rollback are refused here: the transaction ends with the handler. Return to commit, throw to roll back",
  );
}
