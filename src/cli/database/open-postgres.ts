import { fromPg, type PgOwnedPoolLike } from "../../driver/pg.ts";
import { fromPostgresJs, type PostgresJsSqlLike } from "../../driver/postgres-js.ts";
import { hasMethods } from "../../options.ts";
import { CliError } from "../cli-error.ts";
import { CONNECT_MS, type DatabaseKind, type Opened } from "./database.ts";
import { loadModule } from "./load-module.ts";

export const postgresKind: DatabaseKind = {
  dialect: "postgres",
  urls: ["postgres://", "postgresql://"],
  isUrl: (url) => /^postgres(ql)?:\/\//i.test(url),
  async open(url, { max }) {
    const opened = (await withPg(url, max)) ?? (await withPostgresJs(url, max));
    if (opened !== undefined) return opened;
    throw new CliError("NO_DRIVER", "there is no PostgreSQL driver here: npm install pg");
  },
};

interface PgModule {
  readonly Pool: new (options: object) => PgOwnedPoolLike;
}

async function withPg(url: string, max: number): Promise<Opened | undefined> {
  const pg = await loadModule("pg");
  if (!isPg(pg)) return undefined;
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: "intray",
  });
  return { source: fromPg(pool), close: () => pool.end() };
}

function isPg(module: unknown): module is PgModule {
  return hasMethods(module, ["Pool"]);
}

type OpenPostgresJs = (url: string, options: object) => EndingSql;
type EndingSql = PostgresJsSqlLike & { end(options: object): Promise<void> };

async function withPostgresJs(url: string, max: number): Promise<Opened | undefined> {
  const postgres = await loadModule("postgres");
  if (!isPostgresJs(postgres)) return undefined;
  const sql = postgres(url, {
    max,
    connect_timeout: CONNECT_MS / 1000,
    connection: { application_name: "intray" },
    onnotice: () => {},
  });
  return { source: fromPostgresJs(sql), close: () => sql.end({ timeout: 5 }) };
}

function isPostgresJs(module: unknown): module is OpenPostgresJs {
  return typeof module === "function";
}
