import Database from "libsql";
import mariadb from "mariadb";
import mysql from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";
import { fromBetterSqlite3 } from "../../../src/driver/better-sqlite3.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { fromMariadb } from "../../../src/driver/mariadb.ts";
import { fromMssql } from "../../../src/driver/mssql.ts";
import { fromMysql2 } from "../../../src/driver/mysql2.ts";
import { fromPg } from "../../../src/driver/pg.ts";
import { fromPostgresJs } from "../../../src/driver/postgres-js.ts";
import { HandmadeSource } from "../../support/handmade.ts";
import { loadMssql, openMssqlPool } from "../../support/mssql-pool.ts";
import type { SourceKind } from "./protocol.ts";

export interface Connected {
  readonly source: ConnectionSource;
  end(): Promise<void>;
}

/** A source of any kind, with what ends it. */
export function connectAs(kind: SourceKind, url: string, max: number): Connected {
  switch (kind) {
    case "pg": {
      const pool = new pg.Pool({ connectionString: url, max, application_name: "worker" });
      return { source: fromPg(pool), end: () => pool.end() };
    }
    case "postgres": {
      const connection = { application_name: "worker" };
      const sql = postgres(url, { max, connection, onnotice: () => undefined });
      return { source: fromPostgresJs(sql), end: () => sql.end({ timeout: 1 }) };
    }
    case "handmade": {
      const source = new HandmadeSource(url);
      return { source, end: () => source.close() };
    }
    case "mysql2":
    case "mysql2 on MySQL": {
      const pool = mysql.createPool({ uri: url, connectionLimit: max });
      return { source: fromMysql2(pool), end: () => pool.end() };
    }
    case "mariadb":
    case "mariadb on MySQL": {
      const connectionLimit = `connectionLimit=${max}`;
      const pool = mariadb.createPool(`${url.replace(/^mysql:/, "mariadb:")}?${connectionLimit}`);
      return { source: fromMariadb(pool, { max }), end: () => pool.end() };
    }
    case "mssql": {
      const pool = openMssqlPool(url, { max }, "worker");
      return { source: fromMssql(loadMssql(), pool), end: () => pool.close() };
    }
    case "sqlite file": {
      const source = fromBetterSqlite3(() => new Database(url), { max });
      return { source, end: async () => source.close() };
    }
  }
}
