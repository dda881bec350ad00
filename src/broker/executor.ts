import type { ConnectionLocks, QueryResult, StatementStep, Step } from "../driver/connection.ts";
import { shown } from "../options.ts";
import { connectionExecutor, isConnection, sourceExecutorOf } from "./executor-connection.ts";
import { driverExecutorOf } from "./executor-driver.ts";
import { ormExecutorOf } from "./executor-orm.ts";
import { runningParts } from "./executor-parts.ts";
import { sqliteExecutorOf } from "./executor-sqlite.ts";

/**
 * Where rows can be written: a connection source, a connection, a handler's `tx`, or a driver's own pool, client
 * or open transaction (pg, postgres.js, PGlite, mysql2, mariadb), or database (better-sqlite3, libsql,
 * node:sqlite, bun:sqlite), or an ORM's transaction (Kysely, Drizzle, Knex, TypeORM, MikroORM, Prisma).
 */
export type Writable = object;

/** What writes statements, whatever the service has at hand. */
export interface Executor {
  /** The database's name, as its dialect has it, where the value tells. */
  readonly database: string | undefined;
  /** All that it runs at once stands on one connection, so that a step may be several statements. */
  readonly runsPrograms?: boolean;
  /**
   * What has the sessions that it writes on, such as their pool: they are set alike, and what was found of one is not
   * asked of the next. Left out: nobody knows.
   */
  readonly origin?: object;
  /** The one session that it writes on. Left out: each run has a connection of its own. */
  readonly session?: object;
  /**
   * Runs statements in order. Several stand in one transaction: the caller's where it has one open, else
   * one of their own, which `begin` opens.
   */
  run(steps: readonly StatementStep[], begin: Begin): Promise<QueryResult[]>;
  /** Works on one connection, with its locks if it has any. Left out: it has none. */
  readonly locking?: Locking;
}

type Locking = <T>(
  work: (on: Executor, locks: ConnectionLocks | undefined) => Promise<T>,
) => Promise<T>;

export type Begin = Extract<Step, { kind: "begin" }>;

/**
 * @throws TypeError where nothing can be written through the value.
 */
export function executorOf(conn: unknown): Executor {
  return runningParts(plainExecutorOf(conn));
}

const TAKES =
  "rows are written through a connection source such as fromPg(pool), a connection, a handler's tx, a pool, connection or transaction of pg, postgres, PGlite, mysql2 or mariadb, a database of better-sqlite3, libsql, node:sqlite or bun:sqlite, or a transaction of Kysely, Drizzle, Knex, TypeORM, MikroORM or Prisma";

function plainExecutorOf(conn: unknown): Executor {
  if (isConnection(conn)) return connectionExecutor(conn);
  const executor =
    // Before the drivers: some have `query` too.
    ormExecutorOf(conn) ??
    sqliteExecutorOf(conn) ??
    driverExecutorOf(conn) ??
    // Last, since the client of a driver has `connect` too.
    sourceExecutorOf(conn);
  if (executor !== undefined) return executor;
  throw new TypeError(`${TAKES}, not ${shown(conn)}`);
}
