import pg from "pg";
import { describe, inject } from "vitest";
import { DROP_EVERYTHING } from "./drop-everything.ts";
import type { DatabaseName } from "./requirements.ts";

export interface TestDatabase {
  readonly url: string;
  /** A statement of the test's own, on a connection of its own: outside every pool under test. */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
  /** Ends sessions on the database, but for the test's own; resolves when they are gone. */
  endSessions(which?: Sessions): Promise<void>;
  /** Gives the database back, emptied; whoever is still connected is cut off. */
  drop(): Promise<void>;
}

/** Every session; those that are in a transaction; those that hold a lock of the name. */
export type Sessions = "all" | "in transactions" | { readonly holding: string };

/** The tests of one database: skipped, with its name in the report, where the database is missing. */
export function describeOn(database: DatabaseName, title: string, define: () => void): void {
  describe.skipIf(isMissing(database))(title, define);
}

export function isMissing(database: DatabaseName): boolean {
  return "missing" in inject("databases")[database];
}

/**
 * An empty PostgreSQL database of the test's own. Drop it when the test ends.
 *
 * Dropped ones serve the file's next tests: to make one takes up to a second where the server is
 * durable, to empty one 10 ms. The databases themselves go at the end of the run.
 *
 * @throws Error where no PostgreSQL is to be had (put such tests into `describeOn`).
 */
export async function createDatabase(): Promise<TestDatabase> {
  const server = inject("databases").postgres;
  if ("missing" in server) throw new Error(`PostgreSQL is missing: ${server.missing}`);
  const name = emptied.pop() ?? (await makeDatabase(server.url));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const checks = new Checks(url.href);
  return {
    url: url.href,
    query: (text, params) => checks.query(text, params),
    endSessions: async (which = "all") => {
      const wanted =
        which === "all"
          ? "TRUE"
          : which === "in transactions"
            ? "state = 'idle in transaction'"
            : "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')";
      await checks.query(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name <> 'test' AND ${wanted}`);
    },
    drop: async () => {
      await checks.end();
      await onServer(url.href, CUT_OFF_OTHERS, DROP_EVERYTHING);
      emptied.push(name);
    },
  };
}

const emptied: string[] = [];
let made = 0;

async function makeDatabase(serverUrl: string): Promise<string> {
  const name = `${inject("run")}_${process.pid}_${++made}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  return name;
}

/** Waits for each to end, up to 10 s. */
const CUT_OFF_OTHERS = `
  SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

async function onServer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A small pool behind the test's own statements: opened at the first, whole after a lost connection. */
class Checks {
  readonly #pool: pg.Pool;

  constructor(url: string) {
    this.#pool = new pg.Pool({ connectionString: url, max: 3, application_name: "test" });
    this.#pool.on("error", () => undefined);
  }

  async query<Row>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<{ rows: Row[]; rowCount: number }> {
    // Without parameters the simple protocol, which takes several statements at once.
    const result = await (params.length === 0
      ? this.#pool.query(text)
      : this.#pool.query(text, [...params]));
    const last = Array.isArray(result) ? result.at(-1) : result;
    return { rows: last.rows, rowCount: last.rowCount ?? 0 };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}
