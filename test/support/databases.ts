import pg from "pg";
import { describe, inject } from "vitest";
import type { DatabaseName } from "./requirements.ts";

export interface TestDatabase {
  readonly url: string;
  /** A statement of the test's own, on a connection of its own: outside every pool under test. */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
  /** Drops the database, also under whoever is still connected. */
  drop(): Promise<void>;
}

/** The tests of one database: skipped, with its name in the report, where the database is missing. */
export function describeOn(database: DatabaseName, title: string, define: () => void): void {
  describe.skipIf(isMissing(database))(title, define);
}

export function isMissing(database: DatabaseName): boolean {
  return "missing" in inject("databases")[database];
}

/**
 * An empty PostgreSQL database of the test's own. Drop it when the test ends; what is left is dropped at
 * the end of the run.
 *
 * @throws Error where no PostgreSQL is to be had (put such tests into `describeOn`).
 */
export async function createDatabase(): Promise<TestDatabase> {
  const server = inject("databases").postgres;
  if ("missing" in server) throw new Error(`PostgreSQL is missing: ${server.missing}`);
  const name = `${inject("run")}_${process.pid}_${++created}`;
  await onServer(server.url, `CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const checks = new Checks(url.href);
  return {
    url: url.href,
    query: (text, params) => checks.query(text, params),
    drop: async () => {
      await checks.end();
      await onServer(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

let created = 0;

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(statement);
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
