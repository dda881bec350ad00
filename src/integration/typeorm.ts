/**
 * `intray/typeorm`: a TypeORM entity manager on a handler's transaction.
 *
 * @module
 */
import { hasMethods, isObject } from "../options.ts";
import { mysqlPoolOn } from "./mysql-transaction-pool.ts";
import { type OrmTransaction, pgPoolOn } from "./transaction-pool.ts";

export type { OrmTransaction } from "./transaction-pool.ts";

/** What intray needs of the service's DataSource, structurally. */
export interface DataSourceLike<Manager> {
  readonly options: { readonly type: string };
  createQueryRunner(): { readonly manager: Manager };
}

/**
 * An EntityManager whose queries run in the handler's transaction. Its `transaction()` is a
 * savepoint, and when the handler has ended it refuses queries. Get repositories from it
 * (`manager.getRepository(Order)`): those of the DataSource are not in the transaction.
 *
 * Takes the transactions of `fromPg`, and an initialized DataSource of the type `postgres`; or those of `fromMysql2`, and
 * one of the type `mysql` or `mariadb`.
 *
 * @param dataSource is left as it is; its pool is not used.
 * @throws TypeError where the transaction has no client of pg or mysql2, or the DataSource is for another database.
 * @throws TransactionError where the handler has ended.
 * @example
 * await worker.run(async (message, tx) => {
 *   const manager = typeormOn(tx, dataSource);
 *   await manager.getRepository(Order).save({ id: message.id });
 * });
 */
export function typeormOn<Manager extends object>(
  tx: OrmTransaction,
  dataSource: DataSourceLike<Manager>,
): Manager {
  const type = hasMethods(dataSource, ["createQueryRunner"]) ? dataSource.options?.type : undefined;
  const isMysql = type === "mysql" || type === "mariadb";
  if (!isMysql && type !== "postgres") {
    throw new TypeError(
      'typeormOn takes a DataSource of the type "postgres", "mysql" or "mariadb" second',
    );
  }
  const connection = isMysql
    ? Promise.resolve(mysqlPoolOn("typeormOn", tx).session())
    : pgPoolOn("typeormOn", tx).connect();
  const runner = dataSource.createQueryRunner();
  if (!isObject(runner.manager) || !hasMethods(runner, ["connect"])) {
    throw new TypeError("typeormOn does not know this version of TypeORM");
  }
  Object.assign(runner, {
    // Every query of the runner asks this for its connection.
    connect: () => connection,
    // TypeORM then nests with savepoints of its own, and `save` opens no transaction for itself. Were
    // these two fields to change, it would send BEGIN and COMMIT, which are savepoints here too.
    isTransactionActive: true,
    transactionDepth: 1,
  });
  return runner.manager;
}
