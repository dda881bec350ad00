import { join } from "node:path";
import { postgres } from "../../../src/dialect/postgres/postgres.ts";
import { repository } from "../../support/package.ts";
import { emptyDatabase } from "../inbox-database.ts";
import { Cli, type CliResult } from "../run-cli.ts";
import { EmailJobs, FailedJobs, Steps } from "./tables.ts";

/** Where intray.config.ts is. */
export const FOLDER: string = join(repository, "test", "cli", "described");

export type Database = Awaited<ReturnType<typeof emptyDatabase>>;

/** A database with the described tables, as their ddl makes them. */
export async function describedDatabase(): Promise<Database> {
  const database = await emptyDatabase();
  await database.query("CREATE SCHEMA app");
  for (const table of [EmailJobs, FailedJobs, Steps]) {
    for (const text of postgres.ddl(table.description)) await database.query(text);
  }
  return database;
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

export async function addJob(database: Database, job: JobInsert): Promise<void> {
  const { attempt = 1, done = "NULL", due = "NULL", lease = "NULL" } = job;
  await database.query(
    `INSERT INTO app.email_jobs (job_id, name, attempt, due, locked_until, done, last_error, payload)
    VALUES ($1, $2, $3, ${due}, ${lease}, ${done}, $4, $5)`,
    [job.id, job.group ?? "emails", attempt, job.error ?? null, Buffer.from(job.payload ?? "{}")],
  );
}
