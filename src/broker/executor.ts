import type {
  Connection,
  ConnectionLocks,
  QueryResult,
  StatementStep,
  Step,
} from "../driver/connection.ts";
import { isConnectionSource } from "../driver/is-connection-source.ts";
import { answersOf, partsOf, runProgram, runSteps } from "../driver/run-steps.ts";
import { textParameter } from "../driver/text-parameter.ts";
import { asError } from "../errors.ts";
import { hasMethods, isObject, shown } from "../options.ts";
import { commitOf } from "./handler-transactions.ts";
import { sourceExecutor } from "./source-executor.ts";

/**
 * Where rows can be written: a connection source, a connection, a handler's `tx`, or a driver's own pool,
 * client or open transaction (pg, postgres.js, PGlite).
 */
export type Writable = object;

/** What writes statements, whatever the service has at hand. */
export interface Executor {
  /** The database's name, as its dialect has it, where the value tells. */
  readonly database: string | undefined;
  /** All that it runs at once stands on one connection, so that a step may be several statements. */
  readonly runsPrograms?: boolean;
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

async function runAll(
  executor: Executor,
  steps: readonly StatementStep[],
  begin: Begin,
): Promise<QueryResult[]> {
  if (steps.every(({ program }) => program === undefined)) {
    return answersOf(steps, await executor.run(steps.flatMap(partsOf), begin));
  }
  if (executor.runsPrograms === true) return await executor.run(steps, begin);
  const results: QueryResult[] = [];
  for (const step of steps) {
    if (step.program === undefined) results.push(...(await runAll(executor, [step], begin)));
    else results.push(await runProgram(step, (each) => executor.run([each], begin)));
  }
  return results;
}

function plainExecutorOf(conn: unknown): Executor {
  if (isConnection(conn)) return connectionExecutor(conn);
  if (isSql(conn)) return sqlExecutor(conn);
  if (isPglite(conn)) return pgliteExecutor(conn);
  if (isPool(conn)) return poolExecutor(conn);
  if (isQueryable(conn)) return queryExecutor(conn);
  // Last, since the client of a driver has `connect` too.
  if (isConnectionSource(conn)) return sourceExecutor(conn);
  throw new TypeError(
    `rows are written through a connection source such as fromPg(pool), a connection, a handler's tx, or a pool, client or transaction of a driver, not ${shown(conn)}`,
  );
}

function connectionExecutor(conn: Connection): Executor {
  const executor: Executor = {
    database: conn.database,
    runsPrograms: true,
    run: (steps) => runSteps(conn, steps),
  };
  return { ...executor, locking: (work) => work(executor, conn.locks) };
}

/**
 * A client, or a handler's `tx`: whoever opened a transaction on it ends it. Nothing tells of a bare client
 * whether one is open, so none is opened here.
 */
function queryExecutor(conn: Queryable): Executor {
  return {
    database: databaseOf(conn),
    async run(steps) {
      const results: QueryResult[] = [];
      for (const { text, params = [] } of steps) {
        results.push(resultOf(await conn.query(text, [...params])));
      }
      return results;
    },
  };
}

function poolExecutor(pool: Pool): Executor {
  return {
    database: "postgres",
    async run(steps, begin) {
      const [only] = steps;
      if (only !== undefined && steps.length === 1) {
        return [resultOf(await pool.query(only.text, [...(only.params ?? [])]))];
      }
      const client = await pool.connect();
      if (!isQueryable(client)) throw new TypeError("the pool gave no client");
      const release = (error?: Error) => {
        if (hasMethods(client, ["release"])) client.release(error);
      };
      try {
        await client.query(begin.text);
        const results = await queryExecutor(client).run(steps, begin);
        await client.query("COMMIT");
        release();
        return results;
      } catch (error) {
        release(asError(error));
        throw error;
      }
    },
  };
}

/** postgres.js encodes by the server's types; text of the unknown type is passed on as it stands. */
function sqlExecutor(sql: Sql): Executor {
  const runOn = async (on: Sql, steps: readonly StatementStep[]) => {
    const results: QueryResult[] = [];
    for (const { text, params = [] } of steps) {
      const values = params.map((value, index) => {
        const parameter = textParameter(value, index + 1);
        return parameter === null ? null : on.typed(parameter, UNKNOWN_OID);
      });
      results.push(resultOf(await on.unsafe(text, values)));
    }
    return results;
  };
  return {
    database: "postgres",
    async run(steps) {
      if (steps.length <= 1 || !hasMethods(sql, ["begin"])) return await runOn(sql, steps);
      let results: QueryResult[] = [];
      await sql.begin(async (tx: unknown) => {
        if (!isSql(tx)) throw new TypeError("postgres.js gave no transaction");
        results = await runOn(tx, steps);
      });
      return results;
    },
  };
}

const UNKNOWN_OID = 705;

function pgliteExecutor(db: Pglite): Executor {
  const runOn = async (on: Pglite, steps: readonly StatementStep[]) => {
    const results: QueryResult[] = [];
    for (const { text, params = [] } of steps) {
      const values = params.map((value, index) => textParameter(value, index + 1));
      results.push(resultOf(await on.query(text, values, { serializers: AS_TEXT })));
    }
    return results;
  };
  return {
    database: "postgres",
    async run(steps) {
      if (steps.length <= 1 || !hasMethods(db, ["transaction"])) return await runOn(db, steps);
      let results: QueryResult[] = [];
      await db.transaction(async (tx: unknown) => {
        if (!isPglite(tx)) throw new TypeError("PGlite gave no transaction");
        results = await runOn(tx, steps);
      });
      return results;
    },
  };
}

/** Parameters are text already, whatever type PGlite finds for them. */
const AS_TEXT: Record<number, (value: unknown) => string> = new Proxy(
  {},
  { get: () => (value: unknown) => String(value) },
);

export type Begin = Extract<Step, { kind: "begin" }>;
type Method = (...args: unknown[]) => unknown;
type Queryable = object & Record<"query", Method>;
type Pool = object & Record<"query" | "connect", Method>;
type Sql = Record<"unsafe" | "typed", Method>;
type Pglite = Record<"query" | "exec", Method>;

function isConnection(value: unknown): value is Connection {
  return hasMethods(value, ["query", "begin", "commit", "rollback", "release"]);
}

function isSql(value: unknown): value is Sql {
  return hasMethods(value, ["unsafe", "typed"]);
}

function isPglite(value: unknown): value is Pglite {
  return hasMethods(value, ["query", "exec"]);
}

function isPool(value: unknown): value is Pool {
  return hasMethods(value, ["query", "connect"]) && "totalCount" in value;
}

function isQueryable(value: unknown): value is Queryable {
  return isObject(value) && hasMethods(value, ["query"]);
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

function resultOf(answer: unknown): QueryResult {
  if (Array.isArray(answer)) return { rows: Array.from(answer), rowCount: answer.length };
  const rows: unknown = isObject(answer) ? answer.rows : undefined;
  if (!Array.isArray(rows)) throw new TypeError("the connection answered no rows");
  return { rows, rowCount: rows.length };
}
