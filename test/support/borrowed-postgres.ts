import pg from "pg";
import type { StartedServer } from "./kept-server.ts";

/** What the databases of every run begin with; the run's own mark follows. */
export const DATABASE_PREFIX = "intray_test_";

/**
 * A PostgreSQL that is not ours and outlives the run. One connection, named as the run, stays open all
 * along: databases of a run without one are leftovers of a run that was killed, and are dropped.
 */
export async function borrowPostgres(url: string, run: string): Promise<StartedServer> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    application_name: run,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    const missing = `DATABASE_URL does not answer: ${String(error)}`;
    return { server: { missing }, stop: () => Promise.resolve() };
  }
  await dropDatabases(client, LEFTOVERS, []);
  return {
    server: { url },
    stop: async () => {
      await dropDatabases(client, THE_RUN, [run]);
      await client.end();
    },
  };
}

const LEFTOVERS = `
  SELECT datname AS name FROM pg_database
  WHERE starts_with(datname, '${DATABASE_PREFIX}') AND NOT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE starts_with(application_name, '${DATABASE_PREFIX}')
      AND starts_with(pg_database.datname, application_name))`;

const THE_RUN = "SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)";

async function dropDatabases(
  client: pg.Client,
  query: string,
  params: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(query, [...params]);
  for (const { name } of rows) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}
