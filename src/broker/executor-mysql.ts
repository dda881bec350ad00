/** Writing through the pools and connections of mysql2 and mariadb. */
import { mysqlWritingOf } from "../driver/mysql-writing.ts";
import type { Executor } from "./executor.ts";
import { connectionExecutor } from "./executor-connection.ts";
import { sourceExecutor } from "./executor-source.ts";

/**
 * A pool gives a connection for all statements of an insert, with a transaction around them where there are
 * several. On a connection of the service's nobody knows whether a transaction is open: none is opened.
 */
export function mysqlExecutorOf(value: unknown): Executor | undefined {
  const writing = mysqlWritingOf(value);
  if (writing === undefined) return undefined;
  if ("source" in writing) return sourceExecutor(writing.source, writing.pool);
  return connectionExecutor(writing.connection, writing.session);
}
