import { randomBytes } from "node:crypto";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { type Server, type StartedServer, startPostgres } from "./postgres-server.ts";
import { DATABASES, type DatabaseName, requiredDatabases } from "./requirements.ts";

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
  const run = `intray_test_${randomBytes(4).toString("hex")}`;
  holder[SHARED] ??= { users: 0, run, started: startAll() };
  const shared = holder[SHARED];
  shared.users++;
  const { servers, stop } = await shared.started;
  project.provide("databases", servers);
  project.provide("run", shared.run);
  return async () => {
    if (--shared.users > 0) return;
    delete holder[SHARED];
    await dropLeftovers(servers.postgres, shared.run);
    await stop();
  };
}

async function startAll() {
  const required = requiredDatabases(process.env["INTRAY_REQUIRE"]);
  const postgres = await findPostgres();
  const servers = { postgres: postgres.server, pglite: await findPglite() };
  for (const name of DATABASES) {
    const server = servers[name];
    if (!("missing" in server)) continue;
    if (required.has(name)) {
      await postgres.stop();
      throw new Error(`INTRAY_REQUIRE asks for ${name}, which is missing: ${server.missing}`);
    }
    console.warn(`\n*** SKIPPED: every test on ${name}, which is missing: ${server.missing}\n`);
  }
  return { servers, stop: postgres.stop };
}

/** The server at DATABASE_URL, else one of our own. A DATABASE_URL that does not answer is missing. */
async function findPostgres(): Promise<StartedServer> {
  const url = process.env["DATABASE_URL"];
  if (url === undefined || url === "") return await startPostgres();
  const stop = () => Promise.resolve();
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return { server: { url }, stop };
  } catch (error) {
    return { server: { missing: `DATABASE_URL does not answer: ${String(error)}` }, stop };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A server that is not ours outlives the run: what its tests did not drop goes here. */
async function dropLeftovers(server: Server, run: string): Promise<void> {
  if ("missing" in server || process.env["DATABASE_URL"] !== server.url) return;
  const client = new pg.Client({ connectionString: server.url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)",
      [run],
    );
    for (const { name } of rows) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

async function findPglite(): Promise<Server> {
  try {
    await import("@electric-sql/pglite");
    return { url: "memory://" };
  } catch (error) {
    return { missing: String(error) };
  }
}
