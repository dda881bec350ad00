/**
 * What becomes of a message in hand: complete, retry, dead, and the completion that fails by itself.
 *
 * All share one fence: id, pull, processing, the token, and a lease that ends later than now. "Now"
 * is clock_timestamp(): now() stands still in the handler's transaction, where it would let a lease
 * that ran out long ago pass. Exactly one row, or the claim was lost.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { allOrFail, milliseconds } from "./sql.ts";

/** The message is done. Parameters: id, token. */
export function completeStatement(schema: InboxSchema): InboxStatement {
  return { text: completion(inboxNames(schema)), params: ["id", "token"] };
}

/**
 * The same as a statement that fails, and so aborts its transaction, when it did not complete the
 * message. Answers one row, `done`: 1. Parameters: id, token.
 */
export function completeOrFailStatement(schema: InboxSchema): InboxStatement {
  return {
    text: `WITH done AS (
  ${completion(inboxNames(schema))}
  RETURNING 1
)
SELECT ${allOrFail("1", "rows completed")} AS done
FROM done`,
    params: ["id", "token"],
  };
}

/** The message comes again. Parameters: delayMs, error, id, token. */
export function retryStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `UPDATE ${names.table} AS i
SET ${column.state} = 'pending',
    ${column.scheduledAt} = clock_timestamp() + ${milliseconds("$1")},
    ${column.attempt} = i.${column.attempt} + 1,
    ${column.lastError} = $2::text,
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
WHERE ${fence(names, "$3", "$4")}`,
    params: ["delayMs", "error", "id", "token"],
  };
}

/** The message is given up; its attempt stays. Parameters: error, id, token. */
export function deadStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `UPDATE ${names.table} AS i
SET ${column.state} = 'dead',
    ${column.lastError} = $1::text,
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
WHERE ${fence(names, "$2", "$3")}`,
    params: ["error", "id", "token"],
  };
}

/** Still ours, and the lease holds. */
export function fence(names: InboxNames, id: string, token: string): string {
  const { column } = names;
  return `i.${column.id} = ${id}::uuid
  AND ${names.processing("i")}
  AND i.${column.claimToken} = ${token}::uuid
  AND i.${column.leaseExpiresAt} > clock_timestamp()`;
}

function completion(names: InboxNames): string {
  const { column } = names;
  return `UPDATE ${names.table} AS i
SET ${column.state} = 'processed',
    ${column.processedAt} = clock_timestamp(),
    ${column.claimToken} = NULL,
    ${column.leaseExpiresAt} = NULL
WHERE ${fence(names, "$1", "$2")}`;
}
