/**
 * The claim past a full window: rows behind more blocked rows than the window holds.
 *
 * A worker runs it only where the window was full and the batch did not fill: when many due rows at the head of
 * the queue belong to one aggregate, which is in work or of which the claim has just taken the first. What is
 * needed is the first rows of *other* aggregates. There are two ways, for two sets of indexes.
 *
 * With the extra index (source, aggregate_id, scheduled_at, created_at, id) a loop jumps from aggregate to
 * aggregate, one seek and one probe each, whatever their length. It starts where the worker's last walk ended,
 * so that the aggregates late in the alphabet get their turn.
 *
 * With V10's own indexes a loop reads on in due order, from the head of the queue, a chunk at a time, and looks at
 * the first row of each aggregate in a chunk. It reads each row before the ones it takes once, so its cost
 * grows with them.
 *
 * Both are loops, and no recursive queries: a recursive query here takes no TOP, and is read to its end. They run
 * behind the lock of the source like any claim, with the same hints for the same reasons (inbox-claim.ts). What
 * they find goes into `@found`, is put in order, and is taken as a claim takes its window.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import {
  answer,
  checkBatchSize,
  claimStart,
  type InboxClaimSettings,
  isBusy,
  leads,
  placed,
  taking,
} from "./inbox-claim.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { now } from "./sql.ts";

/** How many aggregates one walk visits at most. */
export const walkSteps = 1_000;

/** How many rows the walk in due order reads at once. */
const chunkRows = 500;

/**
 * The claim by aggregates, for a table with the extra index. Answers the rows as the claim does, each with
 * `cursor`, where the next walk starts, and `ended`: no aggregate is left behind the cursor, so the next walk
 * starts at the beginning (the empty string). Where nothing was claimed there is one row with a null `id`.
 * Parameters: source, batch, leaseMs, token, cursor (text; "" at first).
 */
export function claimPastByAggregateStatement(
  schema: InboxSchema,
  settings: InboxClaimSettings,
): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  checkBatchSize(settings.batchSize);
  // Ordered by the aggregate: only the extra index gives that order, so the optimizer cannot take the due index
  // and filter its way through the hot aggregate.
  const seek = (
    comparison: string,
  ): string => `SELECT TOP (1) @at = i.${column.aggregateId}, @row = i.${column.id},
  @scheduled = i.${column.scheduledAt}
FROM ${table} AS i WITH (READPAST)
WHERE i.${column.source} = @src AND ${names.pending("i")} AND i.${column.aggregateId} ${comparison}
ORDER BY i.${column.aggregateId}, ${names.order("i")};`;
  return {
    text: `${claimStart(names)}
DECLARE @from nvarchar(255) = @p5, @at nvarchar(255), @last nvarchar(255), @row uniqueidentifier, @scheduled datetime2(7);
DECLARE @step int = 1, @free int = 0, @full bit = 0;
DECLARE @found TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY, [step] int NULL);
${seek(">= @from")}
WHILE @row IS NOT NULL AND @step <= ${walkSteps} AND @free < 2 * @most
BEGIN
  IF @scheduled <= ${now} AND NOT EXISTS (
    SELECT 1
    FROM ${table} AS busy
    WHERE busy.${column.source} = @src AND busy.${column.aggregateId} = @at AND ${names.live("busy")}
  )
  BEGIN
    INSERT INTO @found ([id], [step]) VALUES (@row, @step);
    SET @free = @free + 1;
  END;
  SET @step = @step + 1;
  SET @row = NULL;
  SET @last = @at;
  ${indented(seek("> @last"))}
END;
INSERT INTO @found ([id])
SELECT TOP (@most) i.${column.id}
FROM ${table} AS i WITH (READPAST)
WHERE i.${column.source} = @src AND i.${column.aggregateId} IS NULL AND ${names.due("i")}
ORDER BY ${names.order("i")};
INSERT INTO @found ([id])
SELECT ranked.[id]
${fromExpired(
  names,
  `ranked.[aggregate_id] IS NULL OR NOT EXISTS (
    SELECT 1
    FROM ${table} AS due WITH (READPAST)
    WHERE due.${column.source} = @src AND due.${column.aggregateId} = ranked.[aggregate_id]
      AND ${names.due("due")} AND due.${column.scheduledAt} <= ranked.[scheduled_at] AND ${comesBefore(names, "due", "ranked")}
  )`,
)}
${windowOfFound(names)}
${taking(names, settings)}
IF (SELECT COUNT(*) FROM @taken) >= @most SET @full = 1;
-- The next walk begins at the last aggregate that this one took; what it walked over behind that has its turn then.
IF @full = 1
BEGIN
  SET @at = @from;
  SELECT TOP (1) @at = i.${column.aggregateId}
  FROM @taken AS t
  INNER JOIN @found AS f ON f.[id] = t.[id]
  INNER JOIN ${table} AS i WITH (READPAST) ON i.${column.id} = t.[id]
  WHERE f.[step] IS NOT NULL
  ORDER BY f.[step] DESC;
END;
${answer(
  names,
  `COALESCE(@at, @from) AS [cursor], CAST(CASE WHEN @full = 0 AND @row IS NULL THEN 1 ELSE 0 END AS bit) AS [ended]`,
)}`,
    params: ["source", "batch", "leaseMs", "token", "cursor"],
  };
}

/**
 * The claim in due order, for a table with V10's indexes alone. Answers the rows as the claim does, each with
 * `cursor` (always empty: this walk starts at the head) and `ended`: it has seen all that is due. Parameters:
 * source, batch, leaseMs, token.
 */
export function claimPastInOrderStatement(
  schema: InboxSchema,
  settings: InboxClaimSettings,
): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  checkBatchSize(settings.batchSize);
  // Finds what was seen of an aggregate without reading all that was; equal where the collation says equal.
  const sum = `CHECKSUM(i.${column.aggregateId})`;
  // `>=` alone is what an index can begin at; the rest of it sorts out the rows of that very instant.
  const behind = `i.${column.scheduledAt} >= @scheduled AND (
      i.${column.scheduledAt} > @scheduled
      OR i.${column.createdAt} > @created
      OR (i.${column.createdAt} = @created AND i.${column.id} > @row)
    )`;
  return {
    text: `${claimStart(names)}
DECLARE @row uniqueidentifier = '00000000-0000-0000-0000-000000000000';
DECLARE @scheduled datetime2(7) = '0001-01-01', @created datetime2(7) = '0001-01-01';
DECLARE @read int = ${chunkRows}, @free int = 0;
DECLARE @chunk TABLE (
  [id] uniqueidentifier NOT NULL PRIMARY KEY, [scheduled_at] datetime2(7) NOT NULL, [created_at] datetime2(7) NOT NULL,
  [place] int NOT NULL, [leads] bit NOT NULL
);
DECLARE @found TABLE ([sum] int NOT NULL, [id] uniqueidentifier NOT NULL, [free] bit NOT NULL, PRIMARY KEY ([sum], [id]));
WHILE @read = ${chunkRows} AND @free < 2 * @most
BEGIN
  DELETE FROM @chunk;
  INSERT INTO @chunk ([scheduled_at], [created_at], [id], [place], [leads])
  SELECT next.[scheduled_at], next.[created_at], next.[id], ${leads("next")}
  FROM (
    SELECT TOP (${chunkRows}) i.${column.aggregateId} AS [aggregate_id], ${placed(names, "i")}
    FROM ${table} AS i WITH (READPAST)
    WHERE i.${column.source} = @src AND ${names.due("i")} AND ${behind}
    ORDER BY ${names.order("i")}
  ) AS next;
  SET @read = @@ROWCOUNT;
  SELECT TOP (1) @scheduled = c.[scheduled_at], @created = c.[created_at], @row = c.[id]
  FROM @chunk AS c
  ORDER BY c.[place] DESC;
  -- A busy aggregate's row is kept too: the aggregate may come free meanwhile, and a later row must not pass it.
  INSERT INTO @found ([sum], [id], [free])
  SELECT ${sum}, c.[id], CASE WHEN ${indented(isBusy(names, "i"))} THEN 0 ELSE 1 END
  FROM @chunk AS c INNER JOIN ${table} AS i ON i.${column.id} = c.[id]
  WHERE c.[leads] = 1
    AND NOT EXISTS (
      SELECT 1
      FROM @found AS f INNER JOIN ${table} AS earlier ON earlier.${column.id} = f.[id]
      WHERE f.[sum] = ${sum} AND earlier.${column.aggregateId} = i.${column.aggregateId}
    );
  SET @free = (SELECT COUNT(*) FROM @found AS f WHERE f.[free] = 1);
END;
-- An expired row behind the end of the walk may have a pending one before it that was not seen.
INSERT INTO @found ([sum], [id], [free])
SELECT CHECKSUM(ranked.[aggregate_id]), ranked.[id], 1
${fromExpired(
  names,
  `@read < ${chunkRows} OR ranked.[scheduled_at] < @scheduled
  OR (ranked.[scheduled_at] = @scheduled AND ranked.[created_at] < @created)
  OR (ranked.[scheduled_at] = @scheduled AND ranked.[created_at] = @created AND ranked.[id] < @row)`,
)}
${windowOfFound(names)}
${taking(names, settings)}
${answer(
  names,
  `N'' AS [cursor], CAST(CASE WHEN @read < ${chunkRows} AND (SELECT COUNT(*) FROM @taken) < @most THEN 1 ELSE 0 END AS bit) AS [ended]`,
)}`,
    params: ["source", "batch", "leaseMs", "token"],
  };
}

/** The first expired row of each aggregate, and those without one, as `ranked`, where `condition` holds. */
function fromExpired(names: InboxNames, condition: string): string {
  const { column, table } = names;
  return `FROM (
  SELECT i.${column.aggregateId} AS [aggregate_id], ${placed(names, "i")},
    ROW_NUMBER() OVER (PARTITION BY i.${column.aggregateId} ORDER BY ${names.order("i")}) AS [rank]
  FROM ${table} AS i WITH (READPAST)
  WHERE i.${column.source} = @src AND ${names.expired("i")}
) AS ranked
WHERE (ranked.[aggregate_id] IS NULL OR ranked.[rank] = 1)
  AND (${condition})
  AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.[id] = ranked.[id]);`;
}

/** Fills `@window` with what was found, in order. */
function windowOfFound(names: InboxNames): string {
  const { column, table } = names;
  return `INSERT INTO @window ([id], [place], [leads])
SELECT every.[id], ${leads("every")}
FROM (
  SELECT i.${column.aggregateId} AS [aggregate_id], ${placed(names, "i")}
  FROM @found AS f INNER JOIN ${table} AS i ON i.${column.id} = f.[id]
) AS every;`;
}

/** A row of the table comes before a row of a query, by scheduled, created and id. */
function comesBefore(names: InboxNames, row: string, other: string): string {
  const { column } = names;
  return `(
        ${row}.${column.scheduledAt} < ${other}.[scheduled_at]
        OR ${row}.${column.createdAt} < ${other}.[created_at]
        OR (${row}.${column.createdAt} = ${other}.[created_at] AND ${row}.${column.id} < ${other}.[id])
      )`;
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}
