/**
 * The claim: taking rows. A batch of a few statements, in a transaction at READ COMMITTED, behind the lock of the
 * source (inbox-lock.ts), so that no two claims of a source run at once.
 *
 * 1. The window: the first rows, in the order (scheduled_at, created_at, id), that are due or whose lease has run
 *    out; in it the first of each aggregate (rows without an aggregate all are).
 * 2. Taking: of these, in order, those whose aggregate has no row in live work, up to the batch, are locked.
 * 3. They are made ours, with the whole condition once more: where hints are ignored (Babelfish) nothing rests on
 *    them.
 * 4. The answer: what has our token.
 *
 * The locks, by their hints:
 *
 * - Window, READPAST: with READ_COMMITTED_SNAPSHOT off a row that somebody has changed and not committed is
 *   skipped, where it would be waited for: a producer's insert, a claim by somebody else's statement. With it on
 *   the rows are read as they were committed, without locks, and the hint does nothing.
 * - Taking, UPDLOCK, READPAST, ROWLOCK: an update lock on each row taken, kept to the end of the transaction, on
 *   the row as it is now, in both modes; one that is locked is skipped.
 * - Making them ours and the answer, READPAST: rows that are taken are locked by us and are not skipped. Where the table
 *   is so small that the optimizer reads all of it, the others' rows are, and would be waited for.
 * - The probe whether an aggregate is busy has no hint, on purpose. With READ_COMMITTED_SNAPSHOT on it sees a row
 *   whose completion is not committed as it was: in work, so the aggregate is busy. With it off it waits for that
 *   commit. To skip the row, or to read past the lock, would call the aggregate free and then see the completion
 *   rolled back.
 * - A claim by somebody else's statement, under another lock or none, sees nothing of this one until it commits,
 *   skips or waits for the rows taken, and is caught by the look behind the commit (inbox-look-again.ts).
 *
 * Under SNAPSHOT the whole would be wrong (see inbox-lock.ts), and READPAST is then an error.
 *
 * Tables hold ids and no text: a table variable's text has the database's collation, and comparing it with the
 * column's, where that has another, is error 468.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import { candidateLimit, type InboxStatement } from "../inbox-statement.ts";
import { locked } from "./inbox-lock.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { later, now, timeText, uuidText } from "./sql.ts";

/** How a worker's claims are built. */
export interface InboxClaimSettings {
  /** The largest batch that a claim is asked for; a whole number from 1. */
  readonly batchSize: number;
  /** Claiming a row whose lease had run out adds one to its attempt. Default false. */
  readonly chargeExpired?: boolean;
}

/**
 * The worker's claim. Answers what `ClaimedRow` says, in order, and in each row `held`: how many rows the window
 * held. Where nothing was claimed there is one row with a null `id`. The window was full where `held` equals
 * {@link claimWindow}. Parameters: source, batch (at most the batchSize), leaseMs, token (a new uuid for each
 * claim).
 *
 * @throws RangeError for a batchSize that is not a whole number from 1.
 */
export function claimStatement(schema: InboxSchema, settings: InboxClaimSettings): InboxStatement {
  const names = inboxNames(schema);
  return {
    text: `${claimStart(names)}
${windowOfRows(names, String(claimWindow(settings.batchSize)))}
DECLARE @held int = @@ROWCOUNT;
${taking(names, settings)}
${answer(names, "@held AS [held]")}`,
    params: ["source", "batch", "leaseMs", "token"],
  };
}

/** How many rows the window of {@link claimStatement} holds. */
export function claimWindow(batchSize: number): number {
  return candidateLimit(checkBatchSize(batchSize));
}

/** @throws RangeError for what is not a whole number from 1 to 100,000. */
export function checkBatchSize(batchSize: number): number {
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 100_000) {
    throw new RangeError(`batchSize takes a whole number from 1 to 100000, not ${batchSize}`);
  }
  return batchSize;
}

/**
 * The lock, the parameters as variables of the right types, and the tables of a claim. No variable has the name of
 * a parameter of the public statement (source, batch, lease_ms, cand_limit) either: bound by name, in
 * another language, that is Msg 134.
 */
export function claimStart(names: InboxNames, token = "CAST(@p4 AS uniqueidentifier)"): string {
  return `${locked(names, "@p1")}
DECLARE @most int = @p2, @hold bigint = @p3, @own uniqueidentifier = ${token};
DECLARE @window TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [leads] bit NOT NULL);
DECLARE @taken TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [place] int NOT NULL, [expired] bit NOT NULL);`;
}

/**
 * Fills `@window` with the first rows, `most` of them, due or expired. Merging the first rows of each kind gives
 * the first rows of both, so an aggregate's first row here is its first row at all. A row that is given back
 * between the two readings is in both, and by UNION in the window once.
 */
export function windowOfRows(names: InboxNames, most: string): string {
  const { column, table } = names;
  const firstRows = (kind: "due" | "expired"): string =>
    `SELECT ${kind}.[aggregate_id], ${kind}.[scheduled_at], ${kind}.[created_at], ${kind}.[id]
    FROM (
      SELECT TOP (${most}) i.${column.aggregateId} AS [aggregate_id], ${placed(names, "i")}
      FROM ${table} AS i WITH (READPAST)
      WHERE i.${column.source} = @src AND ${names[kind]("i")}
      ORDER BY ${names.order("i")}
    ) AS ${kind}`;
  return `INSERT INTO @window ([id], [place], [leads])
SELECT held.[id], ${leads("held")}
FROM (
  SELECT TOP (${most}) [kinds].[aggregate_id], [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
  FROM (
    ${firstRows("due")}
    UNION
    ${firstRows("expired")}
  ) AS [kinds]
  ORDER BY [kinds].[scheduled_at], [kinds].[created_at], [kinds].[id]
) AS held;`;
}

/** The three columns of the order as a query inside a statement calls them. */
export function placed(names: InboxNames, alias: string): string {
  const { column } = names;
  return `${alias}.${column.scheduledAt} AS [scheduled_at], ${alias}.${column.createdAt} AS [created_at], ${alias}.${column.id} AS [id]`;
}

/** A row's place in the order, and whether it is the first of its aggregate, or has none. */
export function leads(alias: string): string {
  const order = `${alias}.[scheduled_at], ${alias}.[created_at], ${alias}.[id]`;
  return `ROW_NUMBER() OVER (ORDER BY ${order}),
  CASE WHEN ${alias}.[aggregate_id] IS NULL THEN 1
    WHEN ROW_NUMBER() OVER (PARTITION BY ${alias}.[aggregate_id] ORDER BY ${order}) = 1 THEN 1 ELSE 0 END`;
}

/** Locks up to the batch of what leads in `@window`, into `@taken`, and makes it ours. */
export function taking(
  names: InboxNames,
  { chargeExpired = false }: Pick<InboxClaimSettings, "chargeExpired"> = {},
): string {
  const { column, table } = names;
  const charge = chargeExpired
    ? `,\n    ${column.attempt} = i.${column.attempt} + CAST(t.[expired] AS int)`
    : "";
  return `INSERT INTO @taken ([id], [place], [expired])
SELECT TOP (@most) i.${column.id}, w.[place], CASE WHEN i.${column.state} = N'processing' THEN 1 ELSE 0 END
FROM @window AS w INNER JOIN ${table} AS i WITH (UPDLOCK, READPAST, ROWLOCK) ON i.${column.id} = w.[id]
WHERE w.[leads] = 1
  AND i.${column.source} = @src
  AND ((${names.due("i")}) OR (${names.expired("i")}))
  AND NOT ${isBusy(names, "i")}
ORDER BY w.[place];
UPDATE i
SET ${column.state} = N'processing',
    ${column.claimToken} = @own,
    ${column.claimedAt} = ${now},
    ${column.leaseExpiresAt} = ${later(now, "@hold")}${charge}
FROM ${table} AS i WITH (READPAST, ROWLOCK) INNER JOIN @taken AS t ON t.[id] = i.${column.id}
WHERE i.${column.source} = @src
  AND ((t.[expired] = 0 AND ${names.due("i")}) OR (t.[expired] = 1 AND ${names.expired("i")}));`;
}

/** A row of the aggregate is in live work. False where there is no aggregate. */
export function isBusy(names: InboxNames, alias: string): string {
  const { column } = names;
  return `EXISTS (
    SELECT 1
    FROM ${names.table} AS busy
    WHERE busy.${column.source} = @src
      AND busy.${column.aggregateId} = ${alias}.${column.aggregateId}
      AND ${names.live("busy")}
  )`;
}

/** The rows that are ours, and `told` in each of them; one row with a null id where none is. */
export function answer(names: InboxNames, told: string): string {
  const { column, table } = names;
  const columns = [
    ["idempotencyKey", "idempotency_key"],
    ["aggregateId", "aggregate_id"],
    ["eventType", "event_type"],
    ["correlationId", "correlation_id"],
    ["payload", "payload"],
    ["headers", "headers"],
    ["attempt", "attempt"],
  ] as const;
  return `SELECT claimed.[id], claimed.[source], ${columns.map(([, name]) => `claimed.[${name}]`).join(", ")},
  claimed.[expired], claimed.[claimed_at], whole.*
FROM (SELECT ${told}) AS whole
LEFT JOIN (
  SELECT t.[place], t.[expired], ${uuidText(`i.${column.id}`)} AS [id], i.${column.source} AS [source],
    ${columns.map(([key, name]) => `i.${column[key]} AS [${name}]`).join(", ")},
    ${timeText(`i.${column.claimedAt}`)} AS [claimed_at]
  FROM @taken AS t INNER JOIN ${table} AS i WITH (READPAST) ON i.${column.id} = t.[id]
  WHERE ${names.processing("i")} AND i.${column.claimToken} = @own
) AS claimed ON 1 = 1
ORDER BY claimed.[place];`;
}
