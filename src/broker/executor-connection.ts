/** Writing through what the library's own drivers make: connections, and sources of them. */
import type { Connection } from "../driver/connection.ts";
import { isConnectionSource } from "../driver/is-connection-source.ts";
import { mysqlSessionOf } from "../driver/mysql-writing.ts";
import { runSteps } from "../driver/run-steps.ts";
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { sourceExecutor } from "./executor-source.ts";

export function isConnection(value: unknown): value is Connection {
  return hasMethods(value, ["query", "begin", "commit", "rollback", "release"]);
}

/** On a connection that the caller has; `session` tells whose it is where the connection is made for this. */
export function connectionExecutor(conn: Connection, session: object = conn): Executor {
  const executor: Executor = {
    database: conn.database,
    runsPrograms: true,
    origin: isObject(conn.client) ? mysqlSessionOf(conn.client) : session,
    session,
    run: (steps) => runSteps(conn, steps),
  };
  return { ...executor, locking: (work) => work(executor, conn.locks) };
}

export function sourceExecutorOf(value: unknown): Executor | undefined {
  return isConnectionSource(value) ? sourceExecutor(value) : undefined;
}
