import { onTestFinished } from "vitest";
import { defaultSchema, type InboxSchema } from "../../src/dialect/inbox-schema.ts";
import { inboxDdlText } from "../../src/dialect/postgres/inbox-ddl.ts";
import { createDatabase, type TestDatabase } from "../support/databases.ts";

/** An empty database that is dropped when the test ends. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  return database;
}

/** A database with an empty inbox. */
export async function inboxDatabase(schema: InboxSchema = defaultSchema): Promise<TestDatabase> {
  const database = await emptyDatabase();
  await database.query(inboxDdlText({ schema }));
  return database;
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

/** Adds a row, dead by default, and answers its id. */
export async function addRow(database: TestDatabase, row: DeadInsert): Promise<string> {
  const { rows } = await database.query<{ id: string }>(
    `INSERT INTO inbox (source, idempotency_key, payload, state, last_error, attempt, consumption,
      created_at, claimed_at, scheduled_at, headers)
    SELECT $1, $2, $3::jsonb, $4, $5, 5, 'pull', at, at, at, '{"a": "1"}'
    FROM (SELECT clock_timestamp() - $6::int * interval '1 day' AS at) AS m RETURNING id::text AS id`,
    [
      row.source ?? "orders",
      row.key,
      row.payload ?? "{}",
      row.state ?? "dead",
      row.lastError ?? "Error: no stock",
      row.days ?? 0,
    ],
  );
  return rows[0]?.id ?? "";
}
