import mariadb from "mariadb";
import mysql from "mysql2/promise";
import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, onTestFinished, test } from "vitest";
import type { Dialect } from "../../src/dialect/dialect.ts";
import { dialectNamed } from "../../src/dialect/dialects.ts";
import type { ConnectionSource, QueryResult } from "../../src/driver/connection.ts";
import { fromMariadb } from "../../src/driver/mariadb.ts";
import { fromMssql } from "../../src/driver/mssql.ts";
import { fromMysql2 } from "../../src/driver/mysql2.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { fromPglite } from "../../src/driver/pglite.ts";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import type { FormName } from "../../src/table/description.ts";
import { createDatabase, isMissing, type Sessions, type TestDatabase } from "./databases.ts";
import { HandmadeSource } from "./handmade.ts";
import { type InboxWords, inboxWords } from "./inbox-words.ts";
import { createMssqlDatabase } from "./mssql-database.ts";
import { loadMssql, openMssqlPool } from "./mssql-pool.ts";
import { createMysqlDatabase } from "./mysql-database.ts";
import { abandonPglite, emptyPglite } from "./pglite.ts";
import { chosenDatabases, type DatabaseName } from "./requirements.ts";
import { emptySqlite, sqliteFile } from "./sqlite.ts";

/** A line a way to reach PostgreSQL: the rest of the tests never asks for one by name. */
const SOURCES = {
  pg: { database: "postgres", connections: "many", connect: connectPg },
  postgres: { database: "postgres", connections: "many", connect: connectPostgresJs },
  handmade: { database: "postgres", connections: "many", connect: connectHandmade },
  pglite: { database: "pglite", connections: "one", open: openPglite },
} as const satisfies Record<string, SourceKind>;

/** The same of every database. */
const TARGETS = {
  ...SOURCES,
  mysql2: { database: "mariadb", connections: "many", connect: connectMysql2 },
  mariadb: { database: "mariadb", connections: "many", connect: connectMariadb },
  // Where MYSQL_URL leads to MySQL itself, or INTRAY_MYSQL asks for one.
  "mysql2 on MySQL": { database: "mysql", connections: "many", connect: connectMysql2 },
  "mariadb on MySQL": { database: "mysql", connections: "many", connect: connectMariadb },
  // Where MSSQL_URL leads to a SQL Server.
  mssql: { database: "sqlserver", connections: "many", connect: connectMssql },
  // Beside each other in one file, of which one writes at a time.
  "sqlite file": { database: "sqlite", connections: "one writer", open: openSqliteFile },
  "sqlite in memory": { database: "sqlite", connections: "one", open: openSqlite },
} as const satisfies Record<string, SourceKind>;

/** How long a connection may take to come back when a test has ended. */
const RETURN_DEADLINE_MS = 3_000;
/** Longer: postgres.js then gives up waiting, and does not say that it had to. */
const END_DEADLINE_S = 5;
const LEAK = `a connection was still checked out ${RETURN_DEADLINE_MS} ms after the test`;

export type SourceName = keyof typeof SOURCES;
export type TargetName = keyof typeof TARGETS;

interface SourceKind {
  readonly database: DatabaseName;
  /** `one writer`: a transaction that has written keeps every other from writing. */
  readonly connections: "many" | "one writer" | "one";
  /** Of databases on a server: a pool of connections to it. */
  readonly connect?: (url: string, max: number | undefined, endDeadlineS: number) => Connected;
  /** Of databases within the process: an empty one. */
  readonly open?: (options: OpenOptions) => Promise<OpenedSource>;
}

export interface Connected {
  readonly source: ConnectionSource;
  end(): Promise<void>;
}

export interface OpenOptions {
  /** The size of the pool; 5 by default, and without limit by hand. Sources with one connection ignore it. */
  readonly max?: number;
}

/** An empty database and a source of connections to it. */
export interface OpenedSource {
  readonly source: ConnectionSource;
  /** The name of its dialect. */
  readonly dialect: string;
  /** Where it is, of a file its path; undefined for what only this process reaches. */
  readonly url: string | undefined;
  /**
   * The test's own statements, outside the source's pool. On PGlite they share its one connection and
   * wait for an open transaction: do not await one within a handler there.
   */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
  /** See {@link TestDatabase.endSessions}; there are none to end within the process. */
  endSessions(which?: Sessions): Promise<void>;
  /** A second source to the same database, as another process would have; by way of `url` where there is one. */
  another(options?: OpenOptions & { readonly url?: string }): ConnectionSource;
  /**
   * Closes every connection and drops the database. Happens by itself when the test (or file) ends.
   * A connection that is still checked out then fails the test.
   */
  close(): Promise<void>;
}

export type Open = (options?: OpenOptions) => Promise<OpenedSource>;

interface Needs {
  /** `many` leaves out sources with one connection, `one writer` those with one connection alone. */
  readonly connections: "many" | "one writer" | "one";
  /** Leaves out databases that do not hold rows so. */
  readonly form?: FormName;
  /** What is of one database alone, by the name of its dialect. */
  readonly dialect?: string;
  /** The name of a dialect whose database has no such thing. */
  readonly without?: string;
}

/** Runs the same tests through every way to reach PostgreSQL. Each `open()` gives an empty database. */
export function forEachSource(needs: Needs, define: (name: SourceName, open: Open) => void): void {
  const found = namesOf(SOURCES).filter((name) => isFitting(SOURCES[name], needs));
  for (const name of found) forSource(name, SOURCES[name], (open) => define(name, open));
  if (found.length === 0) nothingToTest();
}

/** The ways to reach a database that carries an inbox. */
const INBOX_SOURCES = { ...SOURCES, mssql: TARGETS.mssql };

/** The same tests on every database that carries an inbox; `words` are what they say there. */
export function forEachInbox(needs: Needs, define: (open: Open, words: InboxWords) => void): void {
  const found = namesOf(INBOX_SOURCES)
    .filter((name) => isFitting(INBOX_SOURCES[name], needs))
    .filter((name) =>
      [undefined, INBOX_SOURCES[name].database].some((each) => each === needs.dialect),
    );
  for (const name of found) {
    const kind = INBOX_SOURCES[name];
    forSource(name, kind, (open) => define(open, inboxWords(kind.database)));
  }
  if (found.length === 0) nothingToTest();
}

/** What a test may ask of the database that it runs on. */
export interface Target {
  readonly name: TargetName;
  readonly dialect: Dialect;
}

/** The same on every database: such tests hold no SQL of their own but what all of them read. */
export function forEachTarget(needs: Needs, define: (target: Target, open: Open) => void): void {
  const found = namesOf(TARGETS)
    .filter((name) => hasDialect(TARGETS[name]))
    .map((name) => ({ name, dialect: dialectOf(TARGETS[name]) }))
    .filter(({ dialect, name }) => {
      if (needs.dialect !== undefined && dialect.name !== needs.dialect) return false;
      if (dialect.name === needs.without) return false;
      if (needs.form !== undefined && !dialect.features.forms.includes(needs.form)) return false;
      return isFitting(TARGETS[name], needs);
    });
  for (const target of found) {
    forSource(target.name, TARGETS[target.name], (open) => define(target, open));
  }
  if (found.length === 0) nothingToTest();
}

/** A suite without tests would be an error. */
function nothingToTest(): void {
  test.skipIf(true)("INTRAY_ONLY leaves out the databases of these tests", () => undefined);
}

function dialectOf({ database }: SourceKind): Dialect {
  return dialectNamed(DIALECTS[database] ?? database);
}

/** A driver may be there before the dialect of its database is. */
function hasDialect(kind: SourceKind): boolean {
  try {
    return dialectOf(kind) !== undefined;
  } catch {
    return false;
  }
}

/** The names of dialects that are not their databases'. */
const DIALECTS: Readonly<Record<string, string>> = { pglite: "postgres", mariadb: "mysql" };

function namesOf<Name extends string>(kinds: Readonly<Record<Name, SourceKind>>): Name[] {
  return Object.keys(kinds).filter((name): name is Name => name in kinds);
}

const chosen = chosenDatabases(process.env["INTRAY_ONLY"]);

const ENOUGH = ["one", "one writer", "many"];

function isFitting(kind: SourceKind, { connections }: Needs): boolean {
  if (ENOUGH.indexOf(kind.connections) < ENOUGH.indexOf(connections)) return false;
  return chosen.has(kind.database);
}

function forSource(name: string, kind: SourceKind, define: (open: Open) => void): void {
  describe.skipIf(isMissing(kind.database))(name, () => {
    const opened = new Set<OpenedSource>();
    afterAll(async () => {
      for (const one of opened) await one.close();
    });
    define(async (options) => {
      const one = await openSource(kind, options);
      if (!closesAfterTest(one)) opened.add(one);
      return one;
    });
  });
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
  const { connect, open } = kind;
  if (open !== undefined) return await open(options);
  if (connect === undefined) throw new Error("a source has connections or is opened");
  const database = await createOn(kind.database);
  const all: Connected[] = [];
  const add: OpenedSource["another"] = ({ max, url = database.url } = {}) => {
    // What a network's faults have hung does not come back.
    const connected = connect(url, max, url === database.url ? END_DEADLINE_S : 1);
    all.push(connected);
    return connected.source;
  };
  let closing: Promise<void> | undefined;
  return {
    source: add(options),
    dialect: DIALECTS[kind.database] ?? kind.database,
    url: database.url,
    query: (text, params) => database.query(text, params),
    endSessions: (which) => database.endSessions(which),
    another: add,
    close: () => {
      closing ??= endAll(all).finally(() => database.drop());
      return closing;
    },
  };
}

/** An empty database on a server. */
function createOn(database: DatabaseName): Promise<TestDatabase> {
  switch (database) {
    case "mariadb":
    case "mysql":
      return createMysqlDatabase(database);
    case "sqlserver":
      return createMssqlDatabase();
    default:
      return createDatabase();
  }
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
    dialect: "postgres",
    url: undefined,
    query: async <Row>(text: string, params: readonly unknown[] = []) => {
      if (params.length === 0) {
        const last = (await db.exec(text)).at(-1);
        return { rows: (last?.rows ?? []) as Row[], rowCount: last?.affectedRows ?? 0 };
      }
      const { rows, affectedRows } = await db.query<Row>(text, [...params]);
      return { rows, rowCount: affectedRows ?? rows.length };
    },
    endSessions: noSessions,
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

async function openSqlite(): Promise<OpenedSource> {
  const source = await emptySqlite();
  return { ...sqliteOpened(source), another: () => source, close: () => allReturned(source) };
}

async function openSqliteFile({ max = 5 }: OpenOptions = {}): Promise<OpenedSource> {
  const file = await sqliteFile();
  const sources = [file.open(max)];
  const [source = file.open(max)] = sources;
  return {
    ...sqliteOpened(file.open(2)),
    url: file.path,
    source,
    another(options = {}) {
      const another = file.open(options.max ?? 5);
      sources.push(another);
      return another;
    },
    async close() {
      try {
        for (const each of sources) await allReturned(each);
      } finally {
        file.remove();
      }
    },
  };
}

function noSessions(): Promise<void> {
  throw new Error("a database within the process has no sessions to end");
}

function sqliteOpened(
  source: ConnectionSource,
): Pick<OpenedSource, "source" | "dialect" | "url" | "query" | "endSessions"> {
  return {
    source,
    endSessions: noSessions,
    dialect: "sqlite",
    url: undefined,
    async query(text, params) {
      const connection = await source.connect();
      try {
        return await connection.query(text, params);
      } finally {
        await connection.release();
      }
    },
  };
}

/** Every connection can be had again. */
async function allReturned(source: ConnectionSource): Promise<void> {
  const limit = AbortSignal.timeout(RETURN_DEADLINE_MS);
  const places = Array.from({ length: source.max ?? 1 }, () => source.connect(limit));
  const taken = await Promise.allSettled(places);
  for (const each of taken) if (each.status === "fulfilled") await each.value.release();
  if (taken.some(({ status }) => status === "rejected")) throw new Error(LEAK);
}

function connectPg(url: string, max = 5): Connected {
  const pool = new pg.Pool({ connectionString: url, max });
  return { source: fromPg(pool), end: () => pool.end() };
}

function connectPostgresJs(url: string, max: number | undefined, endDeadlineS: number): Connected {
  // A session that ends while the library looks up array types is an unhandled rejection inside it.
  // And its own backoff, which killed sessions drive up to 20 seconds, would outlast a test's leases.
  const sql = postgres(url, {
    max: max ?? 5,
    onnotice: () => undefined,
    fetch_types: false,
    backoff: () => 0.05,
  });
  return { source: fromPostgresJs(sql), end: () => sql.end({ timeout: endDeadlineS }) };
}

/** Also for tests of that driver alone. */
export function connectMysql2(url: string, max = 5): Connected {
  const pool = mysql.createPool({ uri: url, connectionLimit: max });
  return { source: fromMysql2(pool), end: () => pool.end() };
}

/** Also for tests of that driver alone. */
export function connectMariadb(url: string, max = 5): Connected {
  const { hostname, password, pathname, port, username } = new URL(url);
  const pool = mariadb.createPool({
    host: hostname,
    port: Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    connectionLimit: max,
    acquireTimeout: 60_000,
  });
  return { source: fromMariadb(pool, { max }), end: () => pool.end() };
}

function connectMssql(url: string, max = 5): Connected {
  const pool = openMssqlPool(url, { max });
  return {
    source: fromMssql(loadMssql(), pool),
    end: async () => {
      if (pool.connected) await pool.close();
    },
  };
}

function connectHandmade(url: string, max?: number): Connected {
  const source = new HandmadeSource(url, max);
  return { source, end: () => source.close() };
}
