import { inject } from "vitest";
import type { TestDatabase } from "./databases.ts";
import { dropMssqlDatabase, type MssqlPool, openMssqlPool } from "./mssql-pool.ts";

/** An empty database of the test's own, on SQL Server. Drop it when the test ends. */
export async function createMssqlDatabase(): Promise<TestDatabase> {
  const server = inject("databases").sqlserver;
  if ("missing" in server) throw new Error(`sqlserver is missing: ${server.missing}`);
  const name = `${inject("run")}_${process.pid}_${++made}`;
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  await onServer(server.url, async (pool) => {
    await pool.request().batch(`CREATE DATABASE ${name}`);
    await pool.request().batch(`ALTER DATABASE ${name} SET ALLOW_SNAPSHOT_ISOLATION ON`);
  });
  let checks: Promise<MssqlPool> | undefined;
  return {
    url: url.href,
    async query<Row>(text: string, params: readonly unknown[] = []) {
      checks ??= connected(url.href, 3);
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
    async drop() {
      await (await checks)?.close();
      await onServer(server.url, (pool) => dropMssqlDatabase(pool, name));
    },
  };
}

let made = 0;

async function connected(url: string, max: number): Promise<MssqlPool> {
  const pool = openMssqlPool(url, { max });
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
