import { describe, onTestFinished } from "vitest";
import { defaultSchema, type InboxSchema } from "../../src/dialect/inbox-schema.ts";
import { createDatabase, isMissing, type TestDatabase } from "../support/databases.ts";
import { deadWords } from "../support/dead-words.ts";
import { type InboxWords, inboxWords } from "../support/inbox-words.ts";
import { createMssqlDatabase } from "../support/mssql-database.ts";
import { chosenDatabases } from "../support/requirements.ts";

/** A database that an inbox can be in. */
export interface InboxKind {
  readonly name: "postgres" | "sqlserver";
  readonly words: InboxWords;
  /** One without tables, which is dropped when the test ends. */
  empty(): Promise<TestDatabase>;
  /** One with an empty inbox. */
  inbox(schema?: InboxSchema): Promise<TestDatabase>;
  /** Adds a row, dead by default, and answers its id. */
  addRow(database: TestDatabase, row: DeadInsert): Promise<string>;
  /** The keys of rows in a state, in order. */
  keys(database: TestDatabase, state: string): Promise<string[]>;
}

const chosen = chosenDatabases(process.env["INTRAY_ONLY"]);

/** The same of every database that an inbox can be in. */
export function forEachInboxDatabase(title: string, define: (kind: InboxKind) => void): void {
  for (const name of ["postgres", "sqlserver"] as const) {
    const isLeftOut = !chosen.has(name) || isMissing(name);
    describe.skipIf(isLeftOut)(`${title}: ${name}`, () => define(kindOf(name)));
  }
}

function kindOf(name: InboxKind["name"]): InboxKind {
  const words = inboxWords(name);
  const kind: InboxKind = {
    name,
    words,
    async empty() {
      const database =
        name === "postgres" ? await createDatabase() : trusting(await createMssqlDatabase());
      onTestFinished(() => database.drop());
      return database;
    },
    async inbox(schema = defaultSchema) {
      const database = await kind.empty();
      for (const text of words.ddl({ schema, extraIndexes: false, listenNotify: false })) {
        await database.query(text);
      }
      return database;
    },
    async addRow(database, row) {
      const { rows } = await database.query<{ id: string }>(deadWords(name).insert, [
        row.source ?? "orders",
        row.key,
        row.payload ?? "{}",
        row.state ?? "dead",
        row.lastError ?? "Error: no stock",
        row.days ?? 0,
      ]);
      return rows[0]?.id ?? "";
    },
    async keys(database, state) {
      const { rows } = await database.query<{ key: string }>(deadWords(name).keys, [state]);
      return rows.map(({ key }) => key);
    },
  };
  return kind;
}

/** The certificate of a test's server is its own. */
export function trusting<Database extends { readonly url: string }>(database: Database): Database {
  const url = new URL(database.url);
  url.searchParams.set("trustServerCertificate", "true");
  return { ...database, url: url.href };
}

/** An empty PostgreSQL database that is dropped when the test ends. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return await kindOf("postgres").empty();
}

/** A PostgreSQL database with an empty inbox. */
export async function inboxDatabase(schema?: InboxSchema): Promise<TestDatabase> {
  return await kindOf("postgres").inbox(schema);
}

export interface DeadInsert {
  readonly key: string;
  readonly source?: string;
  readonly state?: string;
  readonly payload?: string;
  readonly lastError?: string;
  /** Days since it was made and claimed. */
  readonly days?: number;
}

/** Adds a row on PostgreSQL, dead by default, and answers its id. */
export async function addRow(database: TestDatabase, row: DeadInsert): Promise<string> {
  return await kindOf("postgres").addRow(database, row);
}
