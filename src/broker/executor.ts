import type { ConnectionLocks, QueryResult, StatementStep, Step } from "../driver/connection.ts";
import { answersOf, partsOf, runProgram } from "../driver/run-steps.ts";
import { shown } from "../options.ts";
import { connectionExecutor, isConnection, sourceExecutorOf } from "./executor-connection.ts";
import { mysqlExecutorOf } from "./executor-mysql.ts";
import { ormExecutorOf } from "./executor-orm.ts";
import { postgresExecutorOf } from "./executor-postgres.ts";
import { queryExecutorOf } from "./executor-query.ts";
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

/** The same, for statements that are several. */
function runningParts(executor: Executor): Executor {
  const { database, locking } = executor;
  return {
    database,
    run: (steps, begin) => runAll(executor, steps, begin),
    ...(locking && {
      locking: (work) => locking((on, locks) => work(runningParts(on), locks)),
    }),
  };
}

function runAll(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  if (steps.every(({ program }) => program === undefined)) {
    return runPlain(executor, steps, begin);
  }
  const run = () =>
    executor.runsPrograms === true
      ? executor.run(steps, begin)
      : runOneByOne(executor, steps, begin);
  return executor.session === undefined ? run() : inTurn(executor.session, run);
}

async function runPlain(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  return answersOf(steps, await executor.run(steps.flatMap(partsOf), begin));
}

async function runOneByOne(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  const results: QueryResult[] = [];
  for (const step of steps) {
    if (step.program === undefined) results.push(...(await runPlain(executor, [step], begin)));
    else results.push(await runProgram(step, (each) => executor.run([each], begin)));
  }
  return results;
}

/** Who writes on a session last. */
const last = new WeakMap<object, Promise<unknown>>();

/**
 * The statements of one insert are not to mix with those of another on the same session: MySQL tells only the
 * last ids that it has counted.
 */
function inTurn<T>(session: object, run: () => Promise<T>): Promise<T> {
  const before = last.get(session) ?? Promise.resolve();
  const answer = before.then(run);
  last.set(
    session,
    answer.catch(() => {}),
  );
  return answer;
}

const TAKES =
  "rows are written through a connection source such as fromPg(pool), a connection, a handler's tx, a pool, connection or transaction of pg, postgres, PGlite, mysql2 or mariadb, a database of better-sqlite3, libsql, node:sqlite or bun:sqlite, or a transaction of Kysely, Drizzle, Knex, TypeORM, MikroORM or Prisma";

function plainExecutorOf(conn: unknown): Executor {
  if (isConnection(conn)) return connectionExecutor(conn);
  const executor =
    // Before the drivers: some have `query` too.
    ormExecutorOf(conn, clientExecutorOf) ??
    sqliteExecutorOf(conn) ??
    driverExecutorOf(conn) ??
    // Last, since the client of a driver has `connect` too.
    sourceExecutorOf(conn);
  if (executor !== undefined) return executor;
  throw new TypeError(`${TAKES}, not ${shown(conn)}`);
}

/** What writes through a pool or a client of PostgreSQL, MySQL or MariaDB. */
function driverExecutorOf(value: unknown): Executor | undefined {
  return mysqlExecutorOf(value) ?? postgresExecutorOf(value) ?? queryExecutorOf(value);
}

/** The same as an ORM gives it, which writes whatever a step is made of. */
function clientExecutorOf(client: unknown): Executor | undefined {
  const executor = driverExecutorOf(client);
  return executor && runningParts(executor);
}
