import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { MssqlModuleLike, MssqlPoolLike } from "../../src/driver/mssql.ts";

/** The module as the tests use it. It has no types of its own. */
export interface Mssql extends MssqlModuleLike {
  readonly ConnectionPool: new (config: object) => MssqlPool;
  readonly Request: new (parent: unknown) => MssqlRequest;
  readonly PreparedStatement: new (parent: unknown) => { prepare(text: string): Promise<unknown> };
}

export interface MssqlPool extends MssqlPoolLike {
  readonly size: number;
  readonly borrowed: number;
  readonly available: number;
  request(): MssqlRequest;
  close(): Promise<void>;
  listenerCount(event: string): number;
  emit(event: string, ...args: unknown[]): boolean;
}

export interface MssqlRequest {
  input(name: string, value: unknown): MssqlRequest;
  query(text: string): Promise<MssqlAnswer>;
  batch(text: string): Promise<MssqlAnswer>;
}

export interface MssqlAnswer {
  readonly recordset: readonly Readonly<Record<string, unknown>>[];
  readonly recordsets: readonly (readonly unknown[])[];
  readonly rowsAffected: readonly number[];
}

/**
 * From the folder that has it, once it is installed there: it stays out of the library's own lock file. A program that
 * a test has bundled is elsewhere, and runs in the same directory.
 */
export function loadMssql(): Mssql {
  return createRequire(resolve("test/mssql/package.json"))("mssql");
}

/** A pool to where the URL leads: `mssql://sa:password@localhost:1433/database`, `?encrypt=false` if it must be. */
export function openMssqlPool(
  url: string,
  pool: { readonly max: number; readonly min?: number },
  appName = "intray",
): MssqlPool {
  const { hostname, password, pathname, port, searchParams, username } = new URL(url);
  const { ConnectionPool } = loadMssql();
  const opened = new ConnectionPool({
    server: hostname,
    port: port === "" ? 1433 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    connectionTimeout: 5_000,
    requestTimeout: 60_000,
    validateConnection: "socket",
    pool,
    options: {
      appName,
      encrypt: searchParams.get("encrypt") !== "false",
      // That of a test's server is its own.
      trustServerCertificate: true,
    },
  });
  opened.on("error", () => undefined);
  return opened;
}

/** Whoever is still connected is cut off. */
export async function dropMssqlDatabase(pool: MssqlPool, name: string): Promise<void> {
  await pool.request().batch(setDatabase(name, "SINGLE_USER WITH ROLLBACK IMMEDIATE"));
  await pool.request().batch(`DROP DATABASE ${name}`);
}

/** Left out by a server that takes T-SQL on top of PostgreSQL, where a database has no such settings. */
export function setDatabase(name: string, setting: string): string {
  return `IF SERVERPROPERTY('Babelfish') IS NULL EXEC (N'ALTER DATABASE ${name} SET ${setting}')`;
}
