import { onTestFinished } from "vitest";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { fromMssql } from "../../src/driver/mssql.ts";
import { loadMssql, type Mssql, type MssqlPool } from "../support/mssql-pool.ts";
import { TdsServer } from "./tds-server.ts";

export const mssql: Mssql = loadMssql();

export interface OpenServer {
  readonly server: TdsServer;
  readonly port: number;
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
    port,
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
