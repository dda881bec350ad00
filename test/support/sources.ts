import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, onTestFinished } from "vitest";
import type { ConnectionSource, QueryResult } from "../../src/driver/connection.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { fromPglite } from "../../src/driver/pglite.ts";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { createDatabase, isMissing } from "./databases.ts";
import { HandmadeSource } from "./handmade.ts";
import { abandonPglite, emptyPglite } from "./pglite.ts";
import type { DatabaseName } from "./requirements.ts";

/** A line a way to reach a database: the rest of the tests never asks for one by name. */
const SOURCES = {
  pg: { database: "postgres", connections: "many", connect: connectPg },
  postgres: { database: "postgres", connections: "many", connect: connectPostgresJs },
  handmade: { database: "postgres", connections: "many", connect: connectHandmade },
  pglite: { database: "pglite", connections: "one", connect: undefined },
} as const satisfies Record<string, SourceKind>;

/** How long a connection may take to come back when a test has ended. */
const RETURN_DEADLINE_MS = 3_000;
/** Longer: postgres.js then gives up waiting, and does not say that it had to. */
const END_DEADLINE_S = 5;
const LEAK = `a connection was still checked out ${RETURN_DEADLINE_MS} ms after the test`;

export type SourceName = keyof typeof SOURCES;

interface SourceKind {
  readonly database: DatabaseName;
  readonly connections: "many" | "one";
  /** Left out where the database has one connection, which everybody shares. */
  readonly connect: ((url: string, max: number) => Connected) | undefined;
}

interface Connected {
  readonly source: ConnectionSource;
  end(): Promise<void>;
}

export interface OpenOptions {
  /** The size of the pool; 5 by default. Sources with one connection, or with no limit, ignore it. */
  readonly max?: number;
}

/** An empty database and a source of connections to it. */
export interface OpenedSource {
  readonly source: ConnectionSource;
  /** Where it is; undefined for PGlite, which only this process reaches. */
  readonly url: string | undefined;
  /**
   * The test's own statements, outside the source's pool. On PGlite they share its one connection and
   * wait for an open transaction: do not await one within a handler there.
   */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
  /** A second source to the same database, as another process would have. */
  another(options?: OpenOptions): ConnectionSource;
  /**
   * Closes every connection and drops the database. Happens by itself when the test (or file) ends.
   * A connection that is still checked out then fails the test.
   */
  close(): Promise<void>;
}

export type Open = (options?: OpenOptions) => Promise<OpenedSource>;

/**
 * Runs the same tests through every way to reach a database. Each `open()` gives an empty database.
 * `connections: "many"` leaves out those with one connection.
 */
export function forEachSource(
  needs: { readonly connections: "many" | "one" },
  define: (name: SourceName, open: Open) => void,
): void {
  for (const name of sourceNames()) {
    const kind: SourceKind = SOURCES[name];
    if (needs.connections === "many" && kind.connections === "one") continue;
    describe.skipIf(isMissing(kind.database))(name, () => {
      const opened = new Set<OpenedSource>();
      afterAll(async () => {
        for (const one of opened) await one.close();
      });
      define(name, async (options) => {
        const one = await openSource(kind, options);
        if (!closesAfterTest(one)) opened.add(one);
        return one;
      });
    });
  }
}

function sourceNames(): SourceName[] {
  return Object.keys(SOURCES).filter((name): name is SourceName => name in SOURCES);
}

/** False in a hook, where there is no test to end: the describe block's afterAll closes it then. */
function closesAfterTest(one: OpenedSource): boolean {
  try {
    onTestFinished(() => one.close());
    return true;
  } catch {
    return false;
  }
}

async function openSource(kind: SourceKind, options: OpenOptions = {}): Promise<OpenedSource> {
  const { connect } = kind;
  if (connect === undefined) return openPglite();
  const database = await createDatabase();
  const all: Connected[] = [];
  const add = ({ max = 5 }: OpenOptions = {}): ConnectionSource => {
    const connected = connect(database.url, max);
    all.push(connected);
    return connected.source;
  };
  let closing: Promise<void> | undefined;
  return {
    source: add(options),
    url: database.url,
    query: (text, params) => database.query(text, params),
    another: add,
    close: () => {
      closing ??= endAll(all).finally(() => database.drop());
      return closing;
    },
  };
}

/** A pool ends when all its connections are back. Those that are not go with the database. */
async function endAll(all: readonly Connected[]): Promise<void> {
  const ended = await within(
    RETURN_DEADLINE_MS,
    Promise.all(all.map((one) => one.end())).then(() => true),
  );
  if (ended === undefined) throw new Error(LEAK);
}

/** The promise's answer, or undefined when the time is up. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function openPglite(): Promise<OpenedSource> {
  const db = await emptyPglite();
  const source = fromPglite(db);
  return {
    source,
    url: undefined,
    query: async <Row>(text: string, params: readonly unknown[] = []) => {
      if (params.length === 0) {
        const last = (await db.exec(text)).at(-1);
        return { rows: (last?.rows ?? []) as Row[], rowCount: last?.affectedRows ?? 0 };
      }
      const { rows, affectedRows } = await db.query<Row>(text, [...params]);
      return { rows, rowCount: affectedRows ?? rows.length };
    },
    another: () => source,
    close: async () => {
      const connection = await source.connect(AbortSignal.timeout(RETURN_DEADLINE_MS)).catch(() => {
        abandonPglite(db);
        throw new Error(LEAK);
      });
      await connection.release();
    },
  };
}

function connectPg(url: string, max: number): Connected {
  const pool = new pg.Pool({ connectionString: url, max });
  return { source: fromPg(pool), end: () => pool.end() };
}

function connectPostgresJs(url: string, max: number): Connected {
  // A session that ends while the library looks up array types is an unhandled rejection inside it.
  // And its own backoff, which killed sessions drive up to 20 seconds, would outlast a test's leases.
  const sql = postgres(url, {
    max,
    onnotice: () => undefined,
    fetch_types: false,
    backoff: () => 0.05,
  });
  return { source: fromPostgresJs(sql), end: () => sql.end({ timeout: END_DEADLINE_S }) };
}

function connectHandmade(url: string): Connected {
  const source = new HandmadeSource(url);
  return { source, end: () => source.close() };
}
