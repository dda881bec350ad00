import type { ConnectionSource } from "../../driver/connection.ts";
import { fromPg, type PgOwnedPoolLike } from "../../driver/pg.ts";
import { fromPostgresJs, type PostgresJsSqlLike } from "../../driver/postgres-js.ts";
import { hasMethods } from "../../options.ts";
import { sanitize, sanitizeError } from "../../redact.ts";
import { CliError } from "../cli-error.ts";
import { loadModule } from "./load-module.ts";

/** A database that a command has open. */
export interface Database {
  readonly source: ConnectionSource;
  /** How to call it, without its secrets. */
  readonly name: string;
  close(): Promise<void>;
}

/** A server that does not answer is not waited for longer than this. */
const CONNECT_MS = 10_000;

/**
 * Opens the database through the driver that is installed, and sees that it answers.
 *
 * @throws CliError where there is no driver, or no answer.
 */
export async function connect(url: string, max = 2): Promise<Database> {
  const name = sanitize(url);
  const database = (await withPg(url, max, name)) ?? (await withPostgresJs(url, max, name));
  if (database === undefined) {
    throw new CliError("NO_DRIVER", "there is no PostgreSQL driver here: npm install pg");
  }
  try {
    const connection = await database.source.connect();
    await connection.release();
    return database;
  } catch (error) {
    await database.close();
    throw new CliError("CONNECT", `cannot connect to ${name}: ${sanitizeError(error)}`);
  }
}

/** Opens the database, uses it, and closes it whatever happens. */
export async function withDatabase<T>(
  url: string,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await connect(url);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

interface PgModule {
  readonly Pool: new (options: object) => PgOwnedPoolLike;
}

async function withPg(url: string, max: number, name: string): Promise<Database | undefined> {
  const pg = await loadModule("pg");
  if (!isPg(pg)) return undefined;
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: "intray",
  });
  return { source: fromPg(pool), name, close: () => pool.end() };
}

function isPg(module: unknown): module is PgModule {
  return hasMethods(module, ["Pool"]);
}

type OpenPostgresJs = (url: string, options: object) => EndingSql;
type EndingSql = PostgresJsSqlLike & { end(options: object): Promise<void> };

async function withPostgresJs(
  url: string,
  max: number,
  name: string,
): Promise<Database | undefined> {
  const postgres = await loadModule("postgres");
  if (!isPostgresJs(postgres)) return undefined;
  const sql = postgres(url, {
    max,
    connect_timeout: CONNECT_MS / 1000,
    connection: { application_name: "intray" },
    onnotice: () => {},
  });
  return { source: fromPostgresJs(sql), name, close: () => sql.end({ timeout: 5 }) };
}

function isPostgresJs(module: unknown): module is OpenPostgresJs {
  return typeof module === "function";
}
