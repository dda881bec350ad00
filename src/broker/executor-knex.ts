/** Writing through a Knex or its transaction: on the connection that the transaction has. */
import { hasMethods } from "../options.ts";
import type { Executor } from "./executor.ts";
import { ownTransactionExecutor, transactionClientExecutor } from "./executor-orm-client.ts";

export function knexExecutorOf(value: unknown): Executor | undefined {
  if (typeof value !== "function") return undefined;
  if (!hasMethods(value, ["raw", "transaction", "queryBuilder", "withUserParams"]))
    return undefined;
  const knex: object = value;
  const client: unknown = Reflect.get(knex, "client");
  const database = databaseOf(client);
  if (database === undefined || !hasMethods(client, ["acquireConnection"])) {
    throw new TypeError(
      'Knex: rows are written through one of the client "pg" or "mysql2"; pass the driver\'s own connection',
    );
  }
  if (Reflect.get(knex, "isTransaction") !== true) {
    const transaction = value.transaction.bind(value);
    return ownTransactionExecutor(
      database,
      async (work) => await transaction(work),
      (tx) => executorIn(tx),
      originOf(client),
    );
  }
  return transactionClientExecutor({
    orm: "Knex",
    database,
    origin: originOf(client),
    client: () => {
      if (hasMethods(knex, ["isCompleted"]) && knex.isCompleted() === true) {
        throw new TypeError("Knex: this transaction has ended already; nothing is written");
      }
      // A transaction's client has this one connection alone, and takes it back from nobody.
      return client.acquireConnection();
    },
  });
}

function executorIn(tx: unknown): Executor {
  const executor = isTransaction(tx) ? knexExecutorOf(tx) : undefined;
  if (executor === undefined) throw new TypeError("Knex gave no transaction");
  return executor;
}

/** Its settings, which a transaction's client has of the one that it was made of. */
function originOf(client: object): unknown {
  return Reflect.get(client, "config");
}

function isTransaction(value: unknown): boolean {
  return typeof value === "function" && Reflect.get(value, "isTransaction") === true;
}

function databaseOf(client: unknown): "postgres" | "mysql" | undefined {
  if (typeof client !== "object" || client === null) return undefined;
  const driver: unknown = Reflect.get(client, "driverName");
  if (driver === "pg" || driver === "pgnative") return "postgres";
  return driver === "mysql2" ? "mysql" : undefined;
}
