import type { InboxSchema } from "../../src/dialect/inbox-schema.ts";
import * as postgres from "../../src/dialect/postgres/inbox-ddl.ts";
import * as sqlserver from "../../src/dialect/sqlserver/inbox-ddl.ts";

/** What tests of the inbox say in the words of each database. */
export interface InboxWords {
  /** As the worker's option names it. */
  readonly dialect: "postgresql" | "sqlserver";
  /** What a database of a test is set to before it has its table. */
  readonly settings: readonly string[];
  ddl(options: {
    readonly schema: InboxSchema;
    readonly extraIndexes: boolean;
    readonly listenNotify: boolean;
  }): readonly string[];
  /** A table that handlers write texts to, and the statement by which they do: one parameter, the text. */
  readonly effects: string;
  readonly effect: string;
  /** Parameters: source, key, aggregate, event type, correlation, payload, headers, attempt, due in ms, microseconds. */
  insert(schema: InboxSchema): string;
  /** All rows in claim order, as `InboxState` has them. */
  rows(schema: InboxSchema): string;
  /** The database's clock, so many milliseconds on. */
  later(ms: number): string;
  /** A column of time in microseconds. */
  micros(column: string): string;
  /** A uuid that nobody has. */
  readonly uuid: string;
  /** Another name for a column of `inbox`. */
  rename(column: string, to: string): string;
}

const POSTGRES: InboxWords = {
  dialect: "postgresql",
  settings: [],
  ddl: postgres.inboxDdl,
  effects: "CREATE TABLE effects (n bigint GENERATED ALWAYS AS IDENTITY, what text NOT NULL)",
  effect: "INSERT INTO effects (what) VALUES ($1)",
  insert: (schema) => `INSERT INTO ${insertColumns(schema)}
    VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7::text::jsonb, $8::int,
      clock_timestamp() + $9::float8 * interval '1 millisecond',
      clock_timestamp() + $10::float8 * interval '1 microsecond', 'pull')`,
  rows: (
    schema,
  ) => `SELECT ${schema.id}::text AS id, ${schema.idempotencyKey} AS key, ${schema.aggregateId} AS "aggregateId",
      ${schema.state} AS state, ${schema.attempt} AS attempt, ${schema.lastError} AS "lastError",
      ${schema.claimToken}::text AS token,
      (extract(epoch FROM ${schema.scheduledAt} - clock_timestamp()) * 1000)::float8 AS "dueInMs"
    FROM ${schema.table} ORDER BY ${schema.scheduledAt}, ${schema.createdAt}, ${schema.id}`,
  later: (ms) => `(clock_timestamp() + ${ms} * interval '1 millisecond')`,
  micros: (column) => `(extract(epoch FROM ${column}) * 1e6)::float8`,
  uuid: "gen_random_uuid()",
  rename: (column, to) => `ALTER TABLE inbox RENAME COLUMN ${column} TO ${to}`,
};

const SQL_SERVER: InboxWords = {
  dialect: "sqlserver",
  // As on Azure SQL. With it off a test's look at the rows waits for every transaction that has changed one.
  settings: ["ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE"],
  ddl: sqlserver.inboxDdl,
  effects: "CREATE TABLE effects (n bigint IDENTITY NOT NULL, what nvarchar(max) NOT NULL)",
  effect: "INSERT INTO effects (what) VALUES (@p1)",
  insert: (schema) => `INSERT INTO ${insertColumns(schema)}
    VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8,
      DATEADD(millisecond, @p9, SYSUTCDATETIME()), DATEADD(microsecond, @p10, SYSUTCDATETIME()), 'pull')`,
  rows: (
    schema,
  ) => `SELECT LOWER(CONVERT(varchar(36), ${schema.id})) AS id, ${schema.idempotencyKey} AS [key],
      ${schema.aggregateId} AS aggregateId, ${schema.state} AS state, ${schema.attempt} AS attempt,
      ${schema.lastError} AS lastError, LOWER(CONVERT(varchar(36), ${schema.claimToken})) AS token,
      CAST(DATEDIFF_BIG(microsecond, SYSUTCDATETIME(), ${schema.scheduledAt}) AS float) / 1000 AS dueInMs
    FROM ${schema.table} ORDER BY ${schema.scheduledAt}, ${schema.createdAt}, ${schema.id}`,
  later: (ms) => `DATEADD(millisecond, ${ms}, SYSUTCDATETIME())`,
  micros: (column) => `CAST(DATEDIFF_BIG(microsecond, '1970-01-01', ${column}) AS float)`,
  uuid: "NEWID()",
  rename: (column, to) => `EXEC sp_rename N'inbox.${column}', N'${to}', N'COLUMN'`,
};

/** By the name that a source has for its database. */
export function inboxWords(database: string): InboxWords {
  return database === "sqlserver" ? SQL_SERVER : POSTGRES;
}

function insertColumns(schema: InboxSchema): string {
  return `${schema.table} (${schema.source}, ${schema.idempotencyKey}, ${schema.aggregateId},
      ${schema.eventType}, ${schema.correlationId}, ${schema.payload}, ${schema.headers}, ${schema.attempt},
      ${schema.scheduledAt}, ${schema.createdAt}, ${schema.consumption})`;
}
