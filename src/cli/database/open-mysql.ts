import { fromMariadb, type MariadbPoolLike } from "../../driver/mariadb.ts";
import { fromMysql2, type Mysql2PromisePoolLike } from "../../driver/mysql2.ts";
import { hasMethods } from "../../options.ts";
import { CliError } from "../cli-error.ts";
import { CONNECT_MS, type DatabaseKind, type Opened, type OpenSettings } from "./database.ts";
import { loadModule } from "./load-module.ts";

/** MySQL and MariaDB: either driver reaches both. */
export const mysqlKind: DatabaseKind = {
  dialect: "mysql",
  urls: ["mysql://", "mariadb://"],
  isUrl: (url) => /^(mysql|mariadb):\/\//i.test(url),
  async open(url, settings) {
    const ways = /^mariadb:/i.test(url) ? [withMariadb, withMysql2] : [withMysql2, withMariadb];
    for (const open of ways) {
      const opened = await open(url, settings);
      if (opened !== undefined) return opened;
    }
    throw new CliError(
      "NO_DRIVER",
      "there is no driver of MySQL or MariaDB here: npm install mysql2 (or mariadb)",
    );
  },
};

/** Times in UTC, and an error for what does not fit. */
const EXACT =
  "SET time_zone = '+00:00', sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_TRANS_TABLES')";

interface Mysql2Module {
  createPool(options: object): Mysql2Pool;
}

type Mysql2Pool = Mysql2PromisePoolLike & {
  on(event: "connection", listener: (connection: Mysql2Client) => void): unknown;
  end(): Promise<void>;
};

interface Mysql2Client {
  query(text: string): unknown;
}

async function withMysql2(
  url: string,
  { max, sessions }: OpenSettings,
): Promise<Opened | undefined> {
  const mysql = await loadModule("mysql2/promise");
  if (!isMysql2(mysql)) return undefined;
  const pool = mysql.createPool({ uri: url, connectionLimit: max, connectTimeout: CONNECT_MS });
  // Before all that is asked of the connection, which it does in order.
  if (sessions === "exact") pool.on("connection", (connection) => void connection.query(EXACT));
  return { source: fromMysql2(pool), close: () => pool.end() };
}

function isMysql2(module: unknown): module is Mysql2Module {
  return hasMethods(module, ["createPool"]);
}

interface MariadbModule {
  createConnection(url: string): Promise<{ end(): Promise<void> }>;
  createPool(url: string): MariadbPoolLike & { end(): Promise<void> };
}

async function withMariadb(
  url: string,
  { max, sessions }: OpenSettings,
): Promise<Opened | undefined> {
  const mariadb = await loadModule("mariadb");
  if (!isMariadb(mariadb)) return undefined;
  const settings = { connectTimeout: CONNECT_MS, ...(sessions === "exact" && { initSql: EXACT }) };
  // A pool keeps trying, and then tells of itself and not of what was wrong.
  const first = await mariadb.createConnection(mariadbUrl(url, settings));
  await first.end();
  const pool = mariadb.createPool(mariadbUrl(url, { ...settings, connectionLimit: max }));
  return { source: fromMariadb(pool, { max }), close: () => pool.end() };
}

function isMariadb(module: unknown): module is MariadbModule {
  return hasMethods(module, ["createConnection", "createPool"]);
}

/** The driver takes no options beside a URL, none that begins in another way, and a plus as it is. */
function mariadbUrl(url: string, settings: Readonly<Record<string, string | number>>): string {
  const target = new URL(url.replace(/^mysql:/i, "mariadb:"));
  const added = Object.entries(settings).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  target.search = [target.search.slice(1), ...added].filter((part) => part !== "").join("&");
  return target.href;
}
