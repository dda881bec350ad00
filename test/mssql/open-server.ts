import { onTestFinished } from "vitest";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { fromMssql, type MssqlModuleLike, type MssqlPoolLike } from "../../src/driver/mssql.ts";
import { loadMssql } from "./install.ts";
import { TdsServer } from "./tds-server.ts";

/** The module as the tests use it: what the library asks of it, and a pool. */
export interface Mssql extends MssqlModuleLike {
  readonly ConnectionPool: new (config: object) => MssqlPool;
  readonly Request: new (parent: unknown) => Request;
  readonly PreparedStatement: new (parent: unknown) => { prepare(text: string): Promise<unknown> };
}

export interface MssqlPool extends MssqlPoolLike {
  close(): Promise<void>;
  readonly size: number;
  readonly borrowed: number;
  readonly available: number;
  listenerCount(event: string): number;
  emit(event: string, ...args: unknown[]): boolean;
  request(): Request;
  acquire(requester: object): Promise<object>;
  release(connection: object): unknown;
}

export interface Request {
  input(name: string, value: unknown): Request;
  query(text: string): Promise<{ recordset: Record<string, unknown>[]; rowsAffected: number[] }>;
  batch(text: string): Promise<unknown>;
}

// The module has no types of its own.
export const mssql: Mssql = loadMssql() as Mssql;

export interface OpenServer {
  readonly server: TdsServer;
  readonly pool: MssqlPool;
  readonly source: ConnectionSource<"sqlserver">;
  /** A connection that is released when the test ends, if the test did not. */
  connect(): Promise<Connection>;
}

/** A server of the test's own, a pool to it and a source on that; `config` is the pool's. */
export async function openServer(config: PoolConfig = {}): Promise<OpenServer> {
  const server = new TdsServer();
  const port = await server.listen();
  const pool = new mssql.ConnectionPool(poolConfig(port, config));
  onTestFinished(async () => {
    await server.close();
    // It waits for what is lent, which a test that failed has not given back.
    if (pool.connected) void pool.close();
  });
  const source = fromMssql(mssql, pool);
  return {
    server,
    pool,
    source,
    async connect() {
      const connection = await source.connect();
      onTestFinished(async () => void (await connection.release(new Error("the test is over"))));
      return connection;
    },
  };
}

export function poolConfig(port: number, config: PoolConfig = {}): object {
  return {
    server: "127.0.0.1",
    port,
    user: "sa",
    password: "secret",
    database: "app",
    pool: { max: 4 },
    ...config,
    options: { encrypt: false, ...config.options },
  };
}

/** What tests set beside where the server is. */
export interface PoolConfig {
  readonly options?: object;
  readonly [setting: string]: unknown;
}
