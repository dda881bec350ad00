import { randomBytes } from "node:crypto";
import type { TestProject } from "vitest/node";
import { findMssql } from "./borrowed-mssql.ts";
import { findMysql } from "./borrowed-mysql.ts";
import { borrowPostgres, DATABASE_PREFIX } from "./borrowed-postgres.ts";
import { type Server, type StartedServer, startPostgres } from "./kept-server.ts";
import {
  chosenDatabases,
  DATABASES,
  type DatabaseName,
  requiredDatabases,
  wantsOwnMysql,
} from "./requirements.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where each database of the matrix is, for the test files (see databases.ts). */
    databases: Record<DatabaseName, Server>;
    /** What the names of this run's databases begin with. */
    run: string;
  }
}

/** What the projects of one run share: vitest runs this file once for each of them. */
interface Shared {
  users: number;
  run: string;
  started: Promise<{ servers: Record<DatabaseName, Server>; stop: () => Promise<void> }>;
}

const SHARED = Symbol.for("intray.test.databases");

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const holder = globalThis as typeof globalThis & { [SHARED]?: Shared };
  holder[SHARED] ??= begin();
  const shared = holder[SHARED];
  shared.users++;
  const { servers, stop } = await shared.started;
  project.provide("databases", servers);
  project.provide("run", shared.run);
  return async () => {
    if (--shared.users > 0) return;
    delete holder[SHARED];
    await stop();
  };
}

function begin(): Shared {
  const run = `${DATABASE_PREFIX}${randomBytes(4).toString("hex")}`;
  return { users: 0, run, started: startAll(run) };
}

async function startAll(run: string) {
  const required = requiredDatabases(process.env["INTRAY_REQUIRE"]);
  const chosen = chosenDatabases(process.env["INTRAY_ONLY"]);
  const wants = (...names: readonly DatabaseName[]) => names.some((name) => chosen.has(name));
  const [postgres, mysql, mssql] = await Promise.all([
    wants("postgres") ? findPostgres(run) : LEFT_OUT,
    wants("mariadb", "mysql") ? findMysql(run, wants) : [],
    wants("sqlserver") ? findMssql(run) : LEFT_OUT,
  ]);
  const servers: Record<DatabaseName, Server> = {
    postgres: postgres.server,
    pglite: wants("pglite") ? await findPglite() : LEFT_OUT.server,
    sqlite: wants("sqlite") ? await findSqlite() : LEFT_OUT.server,
    mariadb: wants("mariadb") ? { missing: "MYSQL_URL leads to MySQL itself" } : LEFT_OUT.server,
    mysql: { missing: "MYSQL_URL names no MySQL, and INTRAY_MYSQL asks for none" },
    ...Object.fromEntries(mysql.map(({ kind, server }) => [kind, server])),
    sqlserver: mssql.server,
  };
  const stop = async () =>
    void (await Promise.all([postgres, ...mysql, mssql].map((server) => server.stop())));
  for (const name of DATABASES) {
    const server = servers[name];
    if (!("missing" in server)) continue;
    if (required.has(name)) {
      await stop();
      throw new Error(`INTRAY_REQUIRE asks for ${name}, which is missing: ${server.missing}`);
    }
    if (!chosen.has(name)) continue;
    if (name === "mysql" && wantsOwnMysql(process.env["INTRAY_MYSQL"])) {
      await stop();
      throw new Error(`INTRAY_MYSQL asks for MySQL, which is missing: ${server.missing}`);
    }
    console.warn(`\n*** SKIPPED: every test on ${name}, which is missing: ${server.missing}\n`);
  }
  return { servers, stop };
}

/** A run that is about others starts none of it. */
const LEFT_OUT: StartedServer = {
  server: { missing: "the run is about other databases" },
  stop: () => Promise.resolve(),
};

/** The server at DATABASE_URL, else one of our own. */
function findPostgres(run: string): Promise<StartedServer> {
  const url = process.env["DATABASE_URL"];
  return url === undefined || url === "" ? startPostgres() : borrowPostgres(url, run);
}

/** libsql comes with SQLite itself, built for most platforms. */
async function findSqlite(): Promise<Server> {
  try {
    await import("libsql");
    return { url: ":memory:" };
  } catch (error) {
    return { missing: String(error) };
  }
}

async function findPglite(): Promise<Server> {
  try {
    const { savePglite } = await import("./pglite.ts");
    await savePglite();
    return { url: "memory://" };
  } catch (error) {
    return { missing: String(error) };
  }
}
