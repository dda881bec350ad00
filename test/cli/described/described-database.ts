import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import type { Dialect } from "../../../src/dialect/dialect.ts";
import { dialectNamed } from "../../../src/dialect/dialects.ts";
import { createDatabase, isMissing, type TestDatabase } from "../../support/databases.ts";
import { createMssqlDatabase } from "../../support/mssql-database.ts";
import { createMysqlDatabase } from "../../support/mysql-database.ts";
import { repository } from "../../support/package.ts";
import { chosenDatabases, type DatabaseName } from "../../support/requirements.ts";
import { sqliteFile } from "../../support/sqlite.ts";
import { type Words, wordsOf } from "../../support/words.ts";
import { trusting } from "../inbox-database.ts";
import { Cli, type CliResult } from "../run-cli.ts";
import { schemaOf, tablesAt } from "./tables.ts";

/** Where intray.config.ts is. */
export const FOLDER: string = join(repository, "test", "cli", "described");

/** A database of the matrix, as the command line reaches it. */
export interface DescribedKind {
  readonly name: DatabaseName;
  readonly dialect: Dialect;
  readonly words: Words;
  /** Bytes of a text, as a literal. */
  bytes(text: string): string;
  /** An empty one, dropped when the test ends. */
  empty(): Promise<Database>;
  /** One with the described tables, as their ddl makes them. */
  described(): Promise<Database>;
}

/** `url`: as the command line takes it. */
export interface Database extends Omit<TestDatabase, "drop" | "endSessions"> {
  readonly kind: DescribedKind;
  /** What stands before the names of its tables. */
  readonly schema: string;
}

const NAMES: readonly DatabaseName[] = ["postgres", "mariadb", "mysql", "sqlite", "sqlserver"];
const chosen = chosenDatabases(process.env["INTRAY_ONLY"]);

/** The same of every database that the command line opens. */
export function forEachDatabase(title: string, define: (kind: DescribedKind) => void): void {
  for (const name of NAMES) {
    const isLeftOut = !chosen.has(name) || isMissing(name);
    describe.skipIf(isLeftOut)(`${title}: ${name}`, () => define(kindOf(name)));
  }
}

function kindOf(name: DatabaseName): DescribedKind {
  const dialect = dialectNamed(name === "mariadb" ? "mysql" : name);
  const kind: DescribedKind = {
    name,
    dialect,
    words: wordsOf(dialect.name),
    bytes(text) {
      const hex = Buffer.from(text).toString("hex");
      if (name === "postgres") return `'\\x${hex}'::bytea`;
      return name === "sqlserver" ? `0x${hex}` : `x'${hex}'`;
    },
    async empty() {
      const { drop, query, url } = await created(name);
      onTestFinished(drop);
      return { kind, query, url, schema: schemaOf(url) };
    },
    async described() {
      const database = await kind.empty();
      if (database.schema === "app") await database.query("CREATE SCHEMA app");
      for (const table of Object.values(tablesAt(database.url))) {
        for (const text of dialect.ddl(table.description)) await database.query(text);
      }
      return database;
    },
  };
  return kind;
}

async function created(name: DatabaseName): Promise<Omit<TestDatabase, "endSessions">> {
  if (name === "postgres") return await createDatabase();
  if (name === "sqlserver") return trusting(await createMssqlDatabase());
  if (name !== "sqlite") return await createMysqlDatabase(name);
  const file = await sqliteFile();
  const source = file.open(1);
  return {
    url: `sqlite:${file.path}`,
    async query(text, params) {
      const connection = await source.connect();
      try {
        return await connection.query(text, params);
      } finally {
        await connection.release();
      }
    },
    drop: async () => file.remove(),
  };
}

/** Runs `intray ...` beside the configuration. */
export function intray(
  args: readonly string[],
  { cwd = FOLDER, url }: { readonly cwd?: string; readonly url?: string } = {},
): Promise<CliResult> {
  return new Cli(args, { cwd, ...(url !== undefined && { url }) }).ended;
}

export interface JobInsert {
  readonly id: bigint;
  readonly group?: string;
  readonly payload?: string;
  readonly attempt?: number;
  /** SQL: a time, or NULL. */
  readonly due?: string;
  readonly lease?: string;
  readonly done?: string;
  readonly error?: string;
}

export async function addJob({ kind, query, schema }: Database, job: JobInsert): Promise<void> {
  const { attempt = 1, done = "NULL", due = "NULL", lease = "NULL" } = job;
  const at = [1, 2, 3, 4, 5].map((position) => kind.dialect.placeholder(position));
  const insert = `INSERT INTO ${schema}.email_jobs (job_id, name, attempt, last_error, payload, due, locked_until, done)
    VALUES (${at.join(", ")}, ${due}, ${lease}, ${done})`;
  const identity = `SET IDENTITY_INSERT ${schema}.email_jobs`;
  await query(kind.name === "sqlserver" ? `${identity} ON; ${insert}; ${identity} OFF;` : insert, [
    job.id,
    job.group ?? "emails",
    attempt,
    job.error ?? null,
    Buffer.from(job.payload ?? "{}"),
  ]);
}

/** Whether the server says what it makes of a statement, without running it; Babelfish does not. */
export async function prepares({ kind, query }: Database): Promise<boolean> {
  if (kind.name !== "sqlserver") return true;
  const { rows } = await query<{ product: unknown }>(
    "SELECT SERVERPROPERTY('Babelfish') AS product",
  );
  return rows[0]?.product === null;
}

/** The database's time, so many hours from now. */
export function hoursFromNow({ words }: DescribedKind, hours: number): string {
  return words.later(words.now, hours * 3_600_000);
}
