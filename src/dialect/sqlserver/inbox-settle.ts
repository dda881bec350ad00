/**
 * What becomes of a message in hand: complete, retry, dead, and the completion that fails by itself.
 *
 * All share one fence: id, pull, processing, the token, and a lease that ends later than now. "Now" is read at the
 * start of the batch, so not when the handler's transaction began. Exactly one row, or the claim was lost.
 *
 * What they answer is a row, `done`, where the message was changed, and none where it was not. It counts by
 * @@ROWCOUNT, which is the UPDATE's own, with SET NOCOUNT ON (which leaves out only what the client is told) and
 * with triggers on the table (which have a count of their own). An OUTPUT clause would be an error there.
 *
 * The lock is an exclusive one on the row, to the end of the transaction. There is no hint: the fence must wait for
 * whoever has the row, and is tested on the row as it then is, under READ COMMITTED and with
 * READ_COMMITTED_SNAPSHOT on too, as an UPDATE reads what is there and no version. Under SNAPSHOT, a row that
 * somebody changed since the handler's transaction began is error 3960, and nothing is written. A claim beside it
 * sees the row in work until the commit, or waits for that (see inbox-claim.ts).
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { THROWN } from "./errors.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { declareNow, later, literal, now } from "./sql.ts";

/** The message is done. Parameters: id, token. */
export function completeStatement(schema: InboxSchema): InboxStatement {
  return { text: `${completion(inboxNames(schema))}\n${answerDone}`, params: ["id", "token"] };
}

/**
 * The same as a statement that fails, and so rolls its transaction back (XACT_ABORT), when it did not complete the
 * message. Answers one row, `done`: 1. Parameters: id, token.
 *
 * XACT_ABORT is also what keeps an error of the UPDATE from being taken for a lost claim: with it off, the batch
 * would go on behind the error with a count of 0.
 *
 * @throws in the database: 51001, where the claim was lost.
 */
export function completeOrFailStatement(schema: InboxSchema): InboxStatement {
  return {
    text: `${completion(inboxNames(schema))}
IF @@ROWCOUNT <> 1 THROW ${THROWN.claimLost}, ${literal("intray: this claim is lost")}, 1;
SELECT 1 AS [done];`,
    params: ["id", "token"],
  };
}

/** The message comes again. Parameters: delayMs, error, id, token. */
export function retryStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `${settling}
UPDATE i
SET ${column.state} = N'pending',
    ${column.scheduledAt} = ${later(now, "@p1")},
    ${column.attempt} = i.${column.attempt} + 1,
    ${column.lastError} = @p2,
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
FROM ${table} AS i
WHERE ${fence(names, "@p3", "@p4")};
${answerDone}`,
    params: ["delayMs", "error", "id", "token"],
  };
}

/** The message is given up; its attempt stays. Parameters: error, id, token. */
export function deadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  return {
    text: `${settling}
UPDATE i
SET ${column.state} = N'dead',
    ${column.lastError} = @p1,
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
FROM ${table} AS i
WHERE ${fence(names, "@p2", "@p3")};
${answerDone}`,
    params: ["error", "id", "token"],
  };
}

/** How the batch of a settlement begins; the settings end with it. */
export const settling: string = `SET NOCOUNT ON;
SET XACT_ABORT ON;
${declareNow}`;

/** How it ends: a row where the statement before changed one. */
export const answerDone = "SELECT 1 AS [done] WHERE @@ROWCOUNT = 1;";

/** Still ours, and the lease holds. Uuids are compared as such, so without case. */
export function fence(names: InboxNames, id: string, token: string): string {
  const { column } = names;
  return `i.${column.id} = CAST(${id} AS uniqueidentifier)
  AND ${names.processing("i")}
  AND i.${column.claimToken} = CAST(${token} AS uniqueidentifier)
  AND i.${column.leaseExpiresAt} > ${now}`;
}

function completion(names: InboxNames): string {
  const { column, table } = names;
  return `${settling}
UPDATE i
SET ${column.state} = N'processed',
    ${column.processedAt} = ${now},
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
FROM ${table} AS i
WHERE ${fence(names, "@p1", "@p2")};`;
}
