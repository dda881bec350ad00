/**
 * Keeping leases and giving rows back. Lists travel as one text parameter each, JSON that OPENJSON takes apart
 * (`valuesText`): lists of one length, joined by their places.
 *
 * The hints of both, the same in every mode:
 *
 * - READPAST: a row that somebody has locked is skipped, never waited for.
 * - READCOMMITTEDLOCK: the locks are those of READ COMMITTED whatever the session's level is, and whether
 *   READ_COMMITTED_SNAPSHOT is on or off. Without it READPAST is an error in a session at SERIALIZABLE or SNAPSHOT,
 *   which a pool may hand out, and versions would be read, which are locked by nobody.
 * - ROWLOCK: no page of other messages is locked with a row.
 *
 * What was changed is written to a table variable (OUTPUT INTO): a bare OUTPUT is an error where the table has
 * triggers. A claim beside them sees the row in work, as it was, or waits for the commit, which comes at once.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { answerDone, fence, settling } from "./inbox-settle.ts";
import { later, now, uuidText } from "./sql.ts";

/** One lease ends later. Parameters: leaseMs, id, token. */
export function renewStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return {
    text: `${settling}
UPDATE i
SET ${names.column.leaseExpiresAt} = ${later(now, "@p1")}
FROM ${names.table} AS i
WHERE ${fence(names, "@p2", "@p3")};
${answerDone}`,
    params: ["leaseMs", "id", "token"],
  };
}

const skipping = "WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)";

/**
 * All leases in hand end later, in one statement that waits for nobody: a row that its own completion (or
 * anybody) has locked is skipped. Answers `id` and `outcome` for each given row: `extended`; `locked`: ours
 * still, as far as can be seen, but not to be had now; `lost`. Parameters: leaseMs, ids, tokens (two lists of one
 * length).
 *
 * A row that was skipped is read twice: `seen` skips it while it is locked; `there`, with NOLOCK, is only asked
 * whether there is such a row, and never for what is in it.
 */
export function renewAllStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `${settling}
DECLARE @given TABLE ([id] uniqueidentifier NOT NULL, [token] uniqueidentifier NOT NULL);
DECLARE @extended TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY);
INSERT INTO @given ([id], [token])
SELECT ${element("ids")}, ${element("tokens")}
FROM OPENJSON(@p2) AS ids INNER JOIN OPENJSON(@p3) AS tokens ON tokens.[key] = ids.[key];
UPDATE i
SET ${column.leaseExpiresAt} = ${later(now, "@p1")}
OUTPUT inserted.${column.id} INTO @extended ([id])
FROM ${table} AS i ${skipping} INNER JOIN @given AS g ON g.[id] = i.${column.id}
WHERE ${held(names)} AND i.${column.leaseExpiresAt} > ${now};
SELECT ${uuidText("g.[id]")} AS [id],
  CASE
    WHEN e.[id] IS NOT NULL THEN 'extended'
    WHEN seen.${column.id} IS NULL AND there.${column.id} IS NOT NULL THEN 'locked'
    WHEN ${names.processing("seen")} AND seen.${column.claimToken} = g.[token] AND seen.${column.leaseExpiresAt} > ${now} THEN 'locked'
    ELSE 'lost'
  END AS [outcome]
FROM @given AS g
LEFT JOIN @extended AS e ON e.[id] = g.[id]
LEFT JOIN ${table} AS seen WITH (READCOMMITTEDLOCK, READPAST) ON seen.${column.id} = g.[id]
LEFT JOIN ${table} AS there WITH (NOLOCK) ON there.${column.id} = g.[id];`,
    params: ["leaseMs", "ids", "tokens"],
  };
}

/**
 * Gives rows back: pending again, due as before, as if they had never been claimed. Only while the token is still
 * ours; the lease may be over, since nobody else holds the row then. A locked row is skipped: its own transaction
 * decides what becomes of it, and a give-back that waited for one whose connection has died would hang as long as
 * the server takes to notice. Answers `id` for each row given back. `charges`: what the claim had added to the
 * attempt (0 or 1), taken off again. Parameters: ids, tokens, charges (three lists of one length).
 */
export function releaseAllStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `${settling}
DECLARE @given TABLE ([id] uniqueidentifier NOT NULL, [token] uniqueidentifier NOT NULL, [charge] int NOT NULL);
DECLARE @released TABLE ([id] uniqueidentifier NOT NULL PRIMARY KEY);
INSERT INTO @given ([id], [token], [charge])
SELECT ${element("ids")}, ${element("tokens")}, ${element("charges", "int")}
FROM OPENJSON(@p1) AS ids
INNER JOIN OPENJSON(@p2) AS tokens ON tokens.[key] = ids.[key]
INNER JOIN OPENJSON(@p3) AS charges ON charges.[key] = ids.[key];
UPDATE i
SET ${column.state} = N'pending',
    ${column.attempt} = CASE WHEN i.${column.attempt} > g.[charge] THEN i.${column.attempt} - g.[charge] ELSE 0 END,
    ${column.claimToken} = NULL,
    ${column.claimedAt} = NULL,
    ${column.leaseExpiresAt} = NULL
OUTPUT inserted.${column.id} INTO @released ([id])
FROM ${table} AS i ${skipping} INNER JOIN @given AS g ON g.[id] = i.${column.id}
WHERE ${held(names)};
SELECT ${uuidText("r.[id]")} AS [id] FROM @released AS r;`,
    params: ["ids", "tokens", "charges"],
  };
}

/** What a list of {@link valuesText} has in this place. */
function element(list: string, type = "uniqueidentifier"): string {
  return `CAST(JSON_VALUE(${list}.[value], '$[0]') AS ${type})`;
}

function held(names: InboxNames): string {
  return `${names.processing("i")} AND i.${names.column.claimToken} = g.[token]`;
}
