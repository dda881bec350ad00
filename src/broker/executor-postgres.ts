/** Writing through the pools and transactions of pg, postgres.js and PGlite. */
import type { QueryResult, StatementStep } from "../driver/connection.ts";
import { textParameter } from "../driver/text-parameter.ts";
import { asError } from "../errors.ts";
import { hasMethods } from "../options.ts";
import type { Executor } from "./executor.ts";
import { isQueryable, type Method, queryExecutor, resultOf } from "./executor-query.ts";

type Pool = object & Record<"query" | "connect", Method>;
type Sql = Record<"unsafe" | "typed", Method>;
type Pglite = Record<"query" | "exec", Method>;

export function isSql(value: unknown): value is Sql {
  return hasMethods(value, ["unsafe", "typed"]);
}

export function isPglite(value: unknown): value is Pglite {
  return hasMethods(value, ["query", "exec"]);
}

function isPool(value: unknown): value is Pool {
  return hasMethods(value, ["query", "connect"]) && "totalCount" in value;
}

export function postgresExecutorOf(value: unknown): Executor | undefined {
  if (isSql(value)) return sqlExecutor(value);
  if (isPglite(value)) return pgliteExecutor(value);
  return isPool(value) ? poolExecutor(value) : undefined;
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
