/**
 * The table as a QueueBox server makes it (V10), and the index that the claims here want beyond it. Printed for
 * tests and for people without a server: nothing here runs by itself.
 */
import { defaultSchema, type InboxSchema } from "../inbox-schema.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { literal, quoted } from "./sql.ts";

/** What {@link inboxDdl} makes. */
export interface InboxDdlOptions {
  /** Default {@link defaultSchema}. */
  readonly schema?: InboxSchema;
  /** Also the index that bounds the walk past a hot aggregate. Default false. */
  readonly extraIndexes?: boolean;
}

/**
 * The statements, one each, in order; all can run again on what is there already. The schema of a table in two
 * parts must be there. The connection needs QUOTED_IDENTIFIER and ANSI_NULLS on, as drivers have them: the
 * indexes are filtered.
 *
 * @throws TypeError or RangeError that names the missing or unsafe name.
 */
export function inboxDdl(options: InboxDdlOptions = {}): readonly string[] {
  const names = inboxNames(options.schema ?? defaultSchema);
  return [
    table(names),
    ...baseIndexes(names),
    ...(options.extraIndexes === true ? extraIndexes(names) : []),
  ];
}

/** The same as one script, each statement ended by a semicolon; first what `sqlcmd` has off. */
export function inboxDdlText(options: InboxDdlOptions = {}): string {
  return ["SET QUOTED_IDENTIFIER ON", ...inboxDdl(options)]
    .map((statement) => `${statement};\n`)
    .join("\n");
}

/** The index that {@link inboxDdl} makes for the walk past a hot aggregate, as a statement to print. */
export function aggregateIndexDdl(schema: InboxSchema): string {
  return extraIndexes(inboxNames(schema)).join(";\n");
}

function table(names: InboxNames): string {
  const { column } = names;
  return `IF OBJECT_ID(${literal(names.table)}, N'U') IS NULL
CREATE TABLE ${names.table} (
  ${column.id} uniqueidentifier NOT NULL DEFAULT NEWID(),
  ${column.source} nvarchar(255) NOT NULL,
  ${column.idempotencyKey} nvarchar(255) NOT NULL,
  ${column.aggregateId} nvarchar(255) NULL,
  ${column.eventType} nvarchar(255) NULL,
  ${column.payload} nvarchar(max) NOT NULL,
  ${column.state} nvarchar(50) NOT NULL DEFAULT N'pending',
  ${column.createdAt} datetime2 NOT NULL DEFAULT GETUTCDATE(),
  ${column.processedAt} datetime2 NULL,
  ${column.claimedAt} datetime2 NULL,
  ${column.correlationId} nvarchar(128) NULL,
  ${column.claimToken} uniqueidentifier NULL,
  ${column.leaseExpiresAt} datetime2 NULL,
  ${column.consumption} varchar(4) NOT NULL DEFAULT 'push' CHECK (${column.consumption} IN ('push', 'pull')),
  ${column.scheduledAt} datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
  ${column.attempt} int NOT NULL DEFAULT 0,
  ${column.lastError} nvarchar(max) NULL,
  ${column.headers} nvarchar(max) NOT NULL DEFAULT N'{}',
  PRIMARY KEY (${column.id}),
  UNIQUE (${column.source}, ${column.idempotencyKey})
)`;
}

function baseIndexes(names: InboxNames): string[] {
  const { column } = names;
  return [
    index(
      names,
      "due",
      [column.source, column.scheduledAt, column.createdAt, column.id],
      "pending",
    ),
    index(names, "lease", [column.source, column.aggregateId, column.leaseExpiresAt], "processing"),
    index(names, "aggregate_state", [column.aggregateId, column.state]),
  ];
}

function extraIndexes(names: InboxNames): string[] {
  const { column } = names;
  return [
    index(
      names,
      "aggregate_due",
      [column.source, column.aggregateId, column.scheduledAt, column.createdAt, column.id],
      "pending",
    ),
  ];
}

function index(names: InboxNames, suffix: string, columns: string[], state?: string): string {
  const { column } = names;
  // A name of the schema has 63 characters at most, and with this less than the 128 that are allowed.
  const name = `${names.schema.table.split(".").at(-1)}_${suffix}_idx`;
  const where =
    state === undefined
      ? ""
      : `\n  WHERE ${column.consumption} = 'pull' AND ${column.state} = ${literal(state)}`;
  return `IF NOT EXISTS (SELECT 1 FROM sys.indexes AS x WHERE x.object_id = ${names.objectId} AND x.name = ${literal(name)})
CREATE INDEX ${quoted(name)}
  ON ${names.table} (${columns.join(", ")})${where}`;
}
