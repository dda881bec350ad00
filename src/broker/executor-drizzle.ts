/** Writing through Drizzle: on the client that its session has. */
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { driverExecutorOf } from "./executor-driver.ts";
import { transactionClientExecutor } from "./executor-orm-client.ts";

/**
 * A transaction's session has the one client that it is open on. A database's has what it was made on, a pool or a
 * client, and is written through like that.
 */
export function drizzleExecutorOf(value: unknown): Executor | undefined {
  if (!isObject(value) || !hasMethods(value, ["select", "insert", "transaction"])) return undefined;
  const client = clientOf(value);
  if (client === undefined) return undefined;
  const executor = driverExecutorOf(client);
  const database = executor?.database;
  if (executor === undefined || (database !== "postgres" && database !== "mysql")) {
    throw unknownClient();
  }
  const isTransaction = hasMethods(value, ["rollback"]) && "nestedIndex" in value;
  if (!isTransaction) return executor;
  return transactionClientExecutor({
    orm: "Drizzle",
    database,
    origin: executor.origin,
    client: () => client,
  });
}

function clientOf(db: Record<string, unknown>): unknown {
  const session = db["session"];
  return isObject(session) ? session["client"] : undefined;
}

function unknownClient(): TypeError {
  return new TypeError(
    "Drizzle: rows are written through one on pg, postgres.js, PGlite or mysql2; pass the driver's own client, or in a handler its tx",
  );
}
