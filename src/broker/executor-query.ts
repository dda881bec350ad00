/** Writing through whatever has `query`: a handler's `tx`, or a client of pg. */
import type { QueryResult } from "../driver/connection.ts";
import { hasMethods, isObject } from "../options.ts";
import type { Executor } from "./executor.ts";
import { isPglite, isSql } from "./executor-postgres.ts";
import { commitOf } from "./handler-transactions.ts";

export type Method = (...args: unknown[]) => unknown;
export type Queryable = object & Record<"query", Method>;

export function isQueryable(value: unknown): value is Queryable {
  return isObject(value) && hasMethods(value, ["query"]);
}

export function queryExecutorOf(value: unknown): Executor | undefined {
  return isQueryable(value) ? queryExecutor(value) : undefined;
}

/**
 * A client, or a handler's `tx`: whoever opened a transaction on it ends it. Nothing tells of a bare client
 * whether one is open, so none is opened here.
 */
export function queryExecutor(conn: Queryable): Executor {
  const origin = commitOf(conn)?.origin;
  return {
    database: databaseOf(conn),
    ...(origin && { origin }),
    session: conn,
    async run(steps) {
      const results: QueryResult[] = [];
      for (const { text, params = [] } of steps) {
        results.push(resultOf(await conn.query(text, [...params])));
      }
      return results;
    },
  };
}

function databaseOf(conn: Queryable): string | undefined {
  const commit = commitOf(conn);
  if (commit !== undefined) return commit.dialect.name;
  if ("connectionParameters" in conn || "processID" in conn) return "postgres";
  // A handler's tx of the other door: what is behind it tells.
  const client: unknown = Reflect.get(conn, "client");
  if (isSql(client) || isPglite(client)) return "postgres";
  return isQueryable(client) && client !== conn ? databaseOf(client) : undefined;
}

/** What pg, PGlite and postgres.js answer. */
export function resultOf(answer: unknown): QueryResult {
  if (Array.isArray(answer)) return { rows: Array.from(answer), rowCount: answer.length };
  const rows: unknown = isObject(answer) ? answer.rows : undefined;
  if (!Array.isArray(rows)) throw new TypeError("the connection answered no rows");
  return { rows, rowCount: rows.length };
}
