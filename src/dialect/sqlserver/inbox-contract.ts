/** The five public statements: what a worker in any language runs. */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement, InboxStatements } from "../inbox-statement.ts";
import { claimStart, taking, windowOfRows } from "./inbox-claim.ts";
import { renewStatement } from "./inbox-lease.ts";
import { inboxNames } from "./inbox-names.ts";
import { completeStatement, deadStatement, retryStatement } from "./inbox-settle.ts";

/** @throws TypeError or RangeError that names the missing or unsafe name. */
export function sqlserverInboxStatements(schema: InboxSchema): InboxStatements {
  return {
    claim: publicClaimStatement(schema),
    renew: renewStatement(schema),
    complete: completeStatement(schema),
    retry: retryStatement(schema),
    dead: deadStatement(schema),
  };
}

/**
 * A claim, to be run in a transaction of its own at READ COMMITTED: the lock of the source is the transaction's, and
 * without one it is error 51000. The lock is the worker's own too, so claims of both kinds come one after the
 * other. It looks at `candLimit` rows and returns nothing where these all belong to aggregates in work, and it
 * has no second look behind the commit. Answers the message's fields and its `claim_token`, under V10's names
 * whatever the table calls them. Parameters: source, batch, leaseMs, candLimit.
 */
function publicClaimStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  const answered = [
    ["id", "id"],
    ["source", "source"],
    ["idempotencyKey", "idempotency_key"],
    ["aggregateId", "aggregate_id"],
    ["eventType", "event_type"],
    ["correlationId", "correlation_id"],
    ["payload", "payload"],
    ["headers", "headers"],
    ["attempt", "attempt"],
    ["claimToken", "claim_token"],
  ] as const;
  return {
    text: `${claimStart(names, "NEWID()")}
DECLARE @look int = @p4;
${windowOfRows(names, "@look")}
${taking(names)}
SELECT ${answered.map(([key, name]) => `i.${column[key]} AS [${name}]`).join(", ")}
FROM @taken AS t INNER JOIN ${table} AS i WITH (READPAST) ON i.${column.id} = t.[id]
WHERE ${names.processing("i")} AND i.${column.claimToken} = @own
ORDER BY t.[place];`,
    params: ["source", "batch", "leaseMs", "candLimit"],
  };
}
