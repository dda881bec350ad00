/** Writing through TypeORM: on the connection of the query runner that has the transaction. */
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { ownTransactionExecutor, transactionClientExecutor } from "./executor-orm-client.ts";

type Method = (...args: unknown[]) => unknown;
type QueryRunner = object & Record<"startTransaction" | "connect", Method>;

export function typeormExecutorOf(value: unknown): Executor | undefined {
  if (isQueryRunner(value)) return runnerExecutor(value);
  if (!isObject(value) || !hasMethods(value, ["transaction", "getRepository", "query"])) {
    return undefined;
  }
  const runner: unknown = Reflect.get(value, "queryRunner");
  if (isQueryRunner(runner)) return runnerExecutor(runner);
  // A DataSource, or the manager of one.
  const dataSource = hasMethods(value, ["createQueryRunner"]) ? value : dataSourceOf(value);
  const transaction = value.transaction.bind(value);
  return ownTransactionExecutor(
    databaseOf(dataSource),
    async (work) => await transaction(work),
    (manager) => {
      const own: unknown = isObject(manager) ? manager["queryRunner"] : undefined;
      if (isQueryRunner(own)) return runnerExecutor(own);
      throw new TypeError("TypeORM gave no manager with a query runner");
    },
    dataSource,
  );
}

function isQueryRunner(value: unknown): value is QueryRunner {
  return (
    hasMethods(value, ["startTransaction", "commitTransaction", "connect"]) &&
    "isTransactionActive" in value
  );
}

function runnerExecutor(runner: QueryRunner): Executor {
  return transactionClientExecutor({
    orm: "TypeORM",
    database: databaseOf(dataSourceOf(runner)),
    origin: dataSourceOf(runner),
    client: () => {
      if (Reflect.get(runner, "isTransactionActive") !== true) {
        throw new TypeError(
          "TypeORM: this query runner has no transaction open: call startTransaction() first, or pass the manager of dataSource.transaction(...)",
        );
      }
      // Answers the connection that it has.
      return runner.connect();
    },
  });
}

/** Named `connection` before version 1. */
function dataSourceOf(value: object): unknown {
  return Reflect.get(value, "dataSource") ?? Reflect.get(value, "connection");
}

function databaseOf(dataSource: unknown): "postgres" | "mysql" {
  const options: unknown = isObject(dataSource) ? dataSource["options"] : undefined;
  const type: unknown = isObject(options) ? options["type"] : undefined;
  if (type === "postgres") return "postgres";
  if (type === "mysql" || type === "mariadb") return "mysql";
  throw new TypeError(
    'TypeORM: rows are written through a DataSource of the type "postgres", "mysql" or "mariadb"; pass the driver\'s own connection',
  );
}
