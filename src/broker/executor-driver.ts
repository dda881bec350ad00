import type { Executor } from "./executor.ts";
import { mysqlExecutorOf } from "./executor-mysql.ts";
import { postgresExecutorOf } from "./executor-postgres.ts";
import { queryExecutorOf } from "./executor-query.ts";

/** Writing through a pool, a client or a transaction of a driver of PostgreSQL, MySQL or MariaDB. */
export function driverExecutorOf(value: unknown): Executor | undefined {
  return mysqlExecutorOf(value) ?? postgresExecutorOf(value) ?? queryExecutorOf(value);
}
