import { inject } from "vitest";
import type { TestDatabase } from "./databases.ts";
import { dropMssqlDatabase, type MssqlPool, openMssqlPool, setDatabase } from "./mssql-pool.ts";
import { until } from "./until.ts";

export interface MssqlDatabase extends TestDatabase {
  /** Ends sessions on the database, but for the test's own; resolves when they are gone. */
  endSessions(which?: "all" | "in transactions" | { readonly holding: string }): Promise<void>;
}

/** An empty database of the test's own, on SQL Server. Drop it when the test ends. */
export async function createMssqlDatabase(): Promise<MssqlDatabase> {
  const server = inject("databases").sqlserver;
  if ("missing" in server) throw new Error(`sqlserver is missing: ${server.missing}`);
  const name = `${inject("run")}_${process.pid}_${++made}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await onServer(server.url, async (pool) => {
    await pool.request().batch(`CREATE DATABASE ${name}`);
    await pool.request().batch(setDatabase(name, "ALLOW_SNAPSHOT_ISOLATION ON"));
  });
  let checks: Promise<MssqlPool> | undefined;
  return {
    url: url.href,
    async query<Row>(text: string, params: readonly unknown[] = []) {
      checks ??= connected(url.href, 3, CHECKS);
      const request = (await checks).request();
      params.forEach((value, index) => {
        request.input(`p${index + 1}`, value);
      });
      const { recordsets, rowsAffected } = await (params.length === 0
        ? request.batch(text)
        : request.query(text));
      const rows = recordsets.at(-1);
      // What the rows hold is the test's word.
      if (rows !== undefined) return { rows: [...rows] as Row[], rowCount: rows.length };
      return { rows: [], rowCount: rowsAffected.at(-1) ?? 0 };
    },
    async endSessions(which = "all") {
      const wanted =
        which === "all"
          ? "1 = 1"
          : which === "in transactions"
            ? "open_transaction_count > 0"
            : `session_id IN (SELECT request_session_id FROM sys.dm_tran_locks
                WHERE resource_type = 'APPLICATION' AND resource_database_id = DB_ID(N'${name}'))`;
      await onServer(server.url, async (pool) => {
        const ask = async () => {
          const { recordset } = await pool.request().query(
            `SELECT session_id AS id FROM sys.dm_exec_sessions
             WHERE database_id = DB_ID(N'${name}') AND program_name <> N'${CHECKS}' AND ${wanted}`,
          );
          return recordset.map(({ id }) => Number(id));
        };
        const ids = await ask();
        for (const id of ids)
          await pool
            .request()
            .batch(`KILL ${id}`)
            .catch(() => undefined);
        await until(async () => !(await ask()).some((id) => ids.includes(id)));
      });
    },
    async drop() {
      await (await checks)?.close();
      await onServer(server.url, (pool) => dropMssqlDatabase(pool, name));
    },
  };
}

/** As the server knows the test's own sessions. */
const CHECKS = "intray checks";

let made = 0;

async function connected(url: string, max: number, name?: string): Promise<MssqlPool> {
  const pool = openMssqlPool(url, { max }, name);
  await pool.connect();
  return pool;
}

async function onServer(url: string, use: (pool: MssqlPool) => Promise<void>): Promise<void> {
  const pool = await connected(url, 1);
  try {
    await use(pool);
  } finally {
    await pool.close();
  }
}
