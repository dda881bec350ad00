/**
 * Dead letters, for the command line: list, show, run again, throw away. See the interface of the administration for
 * what each takes and answers.
 *
 * What is changed goes through a table variable, as an OUTPUT to the client is refused where the table has triggers.
 * Each batch changes rows by one statement, which is a transaction of its own, and with XACT_ABORT on an error
 * in it is the batch's end.
 */
import { deadLetterChunk } from "../inbox-administration.ts";
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { settling } from "./inbox-settle.ts";
import { later, listed, now, utcText, uuidText } from "./sql.ts";

export function listDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `SET NOCOUNT ON;
DECLARE @src nvarchar(4000) = @p1;
DECLARE @after uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @limit int = CAST(@p3 AS int);
DECLARE @created datetime2(7);
SELECT @created = a.${column.createdAt} FROM ${table} AS a WHERE a.${column.id} = @after;
SELECT TOP (@limit) ${summary(names)}
FROM ${table} AS i
WHERE ${dead(names)}
  AND (@src IS NULL OR i.${column.source} = @src)
  AND (@after IS NULL OR i.${column.createdAt} < @created OR (i.${column.createdAt} = @created AND i.${column.id} < @after))
ORDER BY i.${column.createdAt} DESC, i.${column.id} DESC;`,
    params: ["source", "after", "limit"],
  };
}

export function showDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `SELECT ${summary(names)},
  i.${column.correlationId} AS [correlation_id],
  i.${column.payload} AS [payload],
  i.${column.headers} AS [headers]
FROM ${table} AS i
WHERE i.${column.id} = CAST(@p1 AS uniqueidentifier) AND ${dead(names)};`,
    params: ["id"],
  };
}

export function retryDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return { text: revival(names, given(names)), params: ["ids"] };
}

export function retryDeadOfSourceStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const isOf = `d.${names.column.source} = @p1`;
  return { text: revival(names, oldest(names, isOf)), params: ["source"] };
}

export function purgeDeadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  const which = `(@src IS NULL OR d.${column.source} = @src) AND COALESCE(d.${column.claimedAt}, d.${column.createdAt}) <= @old`;
  const declared = `DECLARE @src nvarchar(4000) = @p1;
DECLARE @old datetime2(7) = ${later(now, "-CAST(@p2 AS bigint)")};`;
  return {
    text: deletion(names, oldest(names, which), declared),
    params: ["source", "olderThanMs"],
  };
}

export function purgeDeadByIdStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return { text: deletion(names, given(names)), params: ["ids"] };
}

function revival(names: InboxNames, found: string): string {
  const { column } = names;
  return `${settling}
${CHANGED}
UPDATE i
SET ${column.state} = N'pending',
    ${column.scheduledAt} = ${now},
    ${column.attempt} = 0,
    ${column.claimToken} = NULL,
    ${column.claimedAt} = NULL,
    ${column.leaseExpiresAt} = NULL,
    ${column.processedAt} = NULL
OUTPUT inserted.${column.id} INTO @changed (id)
${found}
${ANSWER}`;
}

function deletion(names: InboxNames, found: string, declared?: string): string {
  return `${settling}
${declared === undefined ? "" : `${declared}\n`}${CHANGED}
DELETE i
OUTPUT deleted.${names.column.id} INTO @changed (id)
${found}
${ANSWER}`;
}

const CHANGED = "DECLARE @changed TABLE (id uniqueidentifier NOT NULL);";
const ANSWER = `SELECT ${uuidText("c.id")} AS [id]
FROM @changed AS c;`;

/** The dead rows of the given ids; one that somebody has locked is waited for. */
function given(names: InboxNames): string {
  const ids = listed("@p1", "g", [["id", "uniqueidentifier"]]);
  return `FROM ${ids}
INNER JOIN ${names.table} AS i WITH (ROWLOCK, READCOMMITTEDLOCK) ON i.${names.column.id} = g.[id]
WHERE ${dead(names)}
${IN_ORDER}`;
}

/** The first dead rows of which this is true; those that somebody has locked are passed over. */
function oldest(names: InboxNames, which: string): string {
  const { column, table } = names;
  return `FROM (
  SELECT TOP (${deadLetterChunk}) d.${column.id} AS id
  FROM ${table} AS d WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
  WHERE ${dead(names, "d")} AND ${which}
  ORDER BY d.${column.createdAt}, d.${column.id}
) AS found
INNER JOIN ${table} AS i WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.${column.id} = found.id
WHERE ${dead(names)}
${IN_ORDER}`;
}

/** Else the optimizer might read, and lock, the table as a whole. */
const IN_ORDER = "OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);";

function dead(names: InboxNames, alias = "i"): string {
  const { consumption, state } = names.column;
  return `${alias}.${consumption} = 'pull' AND ${alias}.${state} = N'dead'`;
}

function summary(names: InboxNames): string {
  const { column } = names;
  return `${uuidText(`i.${column.id}`)} AS [id], i.${column.source} AS [source],
  i.${column.idempotencyKey} AS [idempotency_key], i.${column.aggregateId} AS [aggregate_id],
  i.${column.eventType} AS [event_type], i.${column.attempt} AS [attempt],
  ${utcText(`i.${column.createdAt}`)} AS [created_at], ${utcText(`i.${column.claimedAt}`)} AS [claimed_at],
  i.${column.lastError} AS [last_error]`;
}
