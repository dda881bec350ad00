import { statSync } from "node:fs";
import { fromBetterSqlite3 } from "../../driver/better-sqlite3.ts";
import { fromBunSqlite } from "../../driver/bun-sqlite.ts";
import { withConnection } from "../../driver/checkout.ts";
import type { ConnectionSource } from "../../driver/connection.ts";
import { fromNodeSqlite } from "../../driver/node-sqlite.ts";
import type { SqliteDatabaseLike } from "../../driver/sqlite-handle.ts";
import { hasMethods, isObject } from "../../options.ts";
import { sanitizeError } from "../../redact.ts";
import { CliError } from "../cli-error.ts";
import type { DatabaseKind } from "./database.ts";
import { loadModule } from "./load-module.ts";
import { isInMemory, isSqliteUrl, sqlitePath } from "./sqlite-path.ts";

export const sqliteKind: DatabaseKind = {
  dialect: "sqlite",
  urls: ["sqlite:", "file:", "the path of an SQLite file"],
  isUrl: isSqliteUrl,
  nameOf: (url, { folder }) => (isInMemory(url) ? url : sqlitePath(url, folder)),
  async open(url, { folder }) {
    if (isInMemory(url)) {
      throw new CliError(
        "NO_FILE",
        `${url} is a database in memory, which its own process alone sees: give a file`,
      );
    }
    const path = sqlitePath(url, folder);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
      throw new CliError(
        "NO_FILE",
        `there is no file ${path}: the commands create none; correct the path, or let the service create it`,
      );
    }
    const { client, source } = await openFile(path);
    try {
      await withConnection(source, new AbortController().signal, (connection) =>
        connection.query("PRAGMA schema_version"),
      );
    } catch (error) {
      client.close();
      throw error;
    }
    return { source, close: async () => void client.close() };
  },
};

/**
 * One connection, which the commands take in turn. (Sources that open files themselves turn them to WAL mode,
 * and the file is the service's.)
 */
interface OpenFile {
  readonly client: SqliteDatabaseLike;
  readonly source: ConnectionSource;
}

/** A driver that is here opens the file; undefined where it is not. */
type Driver = (path: string) => Promise<OpenFile | undefined>;

/** @throws CliError where no driver is here, or none works. */
async function openFile(path: string): Promise<OpenFile> {
  let failure: unknown;
  for (const open of DRIVERS) {
    try {
      const opened = await open(path);
      if (opened !== undefined) return opened;
    } catch (error) {
      // Its word on the file is the answer; but it may have been built for another runtime.
      if (isOfSqlite(error)) throw error;
      failure ??= error;
    }
  }
  const why = failure === undefined ? "" : ` (${sanitizeError(failure)})`;
  throw new CliError(
    "NO_DRIVER",
    `there is no SQLite driver here: npm install better-sqlite3 (or libsql), or run it by Node 22 or later${why}`,
  );
}

function isOfSqlite(error: unknown): boolean {
  return isObject(error) && String(error.code).includes("SQLITE");
}

/** Bun's own first, where it runs this; Node's own last, since a service that has another uses that. */
const DRIVERS: readonly Driver[] = [
  async (path) => {
    if (!("bun" in process.versions)) return undefined;
    // Nothing to bundle, and nothing that other runtimes resolve.
    const module: unknown = await import(["bun", "sqlite"].join(":"));
    if (!hasMethods(module, ["Database"])) return undefined;
    const client = constructed(module.Database, path, { readwrite: true, create: false });
    return { client, source: fromBunSqlite(client) };
  },
  (path) => openPackage("better-sqlite3", path),
  (path) => openPackage("libsql", path),
  async (path) => {
    const module = nodeSqlite();
    if (!hasMethods(module, ["DatabaseSync"])) return undefined;
    const client = constructed(module.DatabaseSync, path);
    return { client, source: fromNodeSqlite(client) };
  },
];

async function openPackage(name: string, path: string): Promise<OpenFile | undefined> {
  const module = await loadModule(name);
  if (typeof module !== "function") return undefined;
  const client = constructed(module, path, { fileMustExist: true });
  return { client, source: fromBetterSqlite3(client) };
}

/** Node's own, without its warning on standard error that it is experimental. */
function nodeSqlite(): unknown {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule?.("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** @throws what the driver fails with. */
// biome-ignore lint/complexity/noBannedTypes: a class of a driver's, of which no more is known
function constructed(driver: Function, ...args: readonly unknown[]): SqliteDatabaseLike {
  const client: unknown = Reflect.construct(driver, args);
  if (isDatabase(client)) return client;
  throw new TypeError("the driver opened no database");
}

function isDatabase(value: unknown): value is SqliteDatabaseLike {
  return hasMethods(value, ["prepare", "exec", "close"]);
}
