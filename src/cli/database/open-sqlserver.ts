import { fromMssql, type MssqlModuleLike, type MssqlPoolLike } from "../../driver/mssql.ts";
import { hasMethods, isObject } from "../../options.ts";
import { CliError, UsageError } from "../cli-error.ts";
import { CONNECT_MS, type DatabaseKind, type OpenSettings } from "./database.ts";
import { loadModule } from "./load-module.ts";

/** SQL Server, Azure SQL and what speaks their protocol. */
export const sqlserverKind: DatabaseKind = {
  dialect: "sqlserver",
  urls: ["mssql://", "sqlserver://", "a connection string of SQL Server (Server=...;Database=...)"],
  isUrl: (url) => isUrl(url) || isConnectionString(url),
  nameOf: (url) => (isUrl(url) ? nameOfUrl(url) : nameOfConnectionString(url)),
  async open(url, settings) {
    const mssql = await loadModule("mssql");
    if (!isMssql(mssql)) {
      throw new CliError("NO_DRIVER", "there is no driver of SQL Server here: npm install mssql");
    }
    const { ConnectionPool } = mssql;
    const given = isUrl(url)
      ? configOfUrl(url)
      : configOf(ConnectionPool.parseConnectionString(url.trim()));
    const pool = new ConnectionPool({ ...given, ...limits(given, settings) });
    return { source: fromMssql(mssql, pool), close: () => pool.close() };
  },
};

interface MssqlModule extends MssqlModuleLike {
  readonly ConnectionPool: {
    new (config: object): MssqlPoolLike & { close(): Promise<void> };
    parseConnectionString(text: string): unknown;
  };
}

function isMssql(module: unknown): module is MssqlModule {
  return (
    hasMethods(module, ["ConnectionPool", "Request"]) &&
    hasMethods(module.ConnectionPool, ["parseConnectionString"])
  );
}

function isUrl(url: string): boolean {
  return /^(mssql|sqlserver):\/\//i.test(url);
}

/** By the keyword that none goes without; a path of a file has none such. */
function isConnectionString(text: string): boolean {
  return /(^|;)\s*(server|data source|addr|address|network address)\s*=/i.test(text);
}

type Config = Readonly<Record<string, unknown>>;

/** @throws UsageError where the URL has a parameter that is not known. */
function configOfUrl(url: string): Config {
  const { hostname, password, pathname, port, searchParams, username } = new URL(url);
  const options: Record<string, boolean | "strict"> = {};
  for (const [name, value] of searchParams) {
    const known = PARAMETERS.find((each) => each.toLowerCase() === name.toLowerCase());
    const isStrict = known === "encrypt" && value.toLowerCase() === "strict";
    if (known === undefined || !(isStrict || /^(true|false)$/i.test(value))) {
      throw new UsageError(
        `the URL of a SQL Server takes ${PARAMETERS.map((each) => `${each}=true or false`).join(" and ")} behind its "?"; for all else give a connection string (Server=...;Database=...)`,
      );
    }
    options[known] = isStrict ? "strict" : value.toLowerCase() === "true";
  }
  return {
    // An IPv6 address stands in brackets in a URL, and nowhere else.
    server: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, "$1"),
    ...(port !== "" && { port: Number(port) }),
    ...(username !== "" && { user: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 && { database: decodeURIComponent(pathname.slice(1)) }),
    options,
  };
}

const PARAMETERS = ["encrypt", "trustServerCertificate"] as const;

function configOf(parsed: unknown): Config {
  if (isObject(parsed)) return parsed;
  throw new TypeError("the driver read no settings from the connection string");
}

/** Commands take their time: they have no limit, unless the settings have one. */
function limits({ options, pool, requestTimeout }: Config, { max }: OpenSettings): Config {
  return {
    connectionTimeout: CONNECT_MS,
    requestTimeout: requestTimeout ?? 0,
    pool: { ...(isObject(pool) ? pool : {}), max, min: 0 },
    options: { ...(isObject(options) ? options : {}), appName: "intray" },
  };
}

/** Without who logs in. */
function nameOfUrl(url: string): string {
  const { host, pathname, protocol } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Where it is, and nothing of what is in the text beside that; what is quoted may hold all signs. */
function nameOfConnectionString(text: string): string {
  const bare = text.replaceAll(/"[^"]*("|$)|'[^']*('|$)/g, "***");
  const parts = bare.split(";").map((part) => part.trim());
  const named = parts.filter((part) =>
    /^(server|data source|addr|address|network address|database|initial catalog)\s*=/i.test(part),
  );
  return named.join(";");
}
