/** The five public statements: what a worker in any language runs. */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement, InboxStatements } from "../inbox-statement.ts";
import { lockedRow, notBusy, taking, windowOfRows } from "./inbox-claim.ts";
import { renewStatement } from "./inbox-lease.ts";
import { inboxNames, place } from "./inbox-names.ts";
import { completeStatement, deadStatement, retryStatement } from "./inbox-settle.ts";

/** @throws TypeError or RangeError that names the missing or unsafe name. */
export function postgresInboxStatements(schema: InboxSchema): InboxStatements {
  return {
    claim: publicClaimStatement(schema),
    renew: renewStatement(schema),
    complete: completeStatement(schema),
    retry: retryStatement(schema),
    dead: deadStatement(schema),
  };
}

/** The largest candLimit of the formula. */
const mostCandidates = 500;

/**
 * A claim in one statement, with no second look: two of them at once can each take a
 * message of one aggregate, when an earlier row becomes visible in between. It looks at `candLimit`
 * rows (the same formula everywhere: three times the batch, at least 50, at most 500), and
 * returns nothing where these all belong to aggregates in work. Answers the message's fields and its
 * `claim_token`, under V10's names whatever the table calls them.
 * Parameters: source, batch, leaseMs, candLimit.
 */
function publicClaimStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return {
    text: `WITH ${windowOfRows(names, mostCandidates, "$4::int")},
locked AS MATERIALIZED (
  SELECT row.id, row.expired
  FROM head
  CROSS JOIN LATERAL (
    ${lockedRow(names, "head.id")}
  ) AS row
  WHERE ${notBusy(names, "head")}
  LIMIT $2::int
), claimed AS (
  ${taking(names, { token: "gen_random_uuid()", json: "native" })}
)
SELECT claimed.id, claimed.source, claimed.idempotency_key, claimed.aggregate_id, claimed.event_type,
  claimed.correlation_id, claimed.payload, claimed.headers, claimed.attempt, claimed.claim_token
FROM claimed
ORDER BY ${place("claimed")}`,
    params: ["source", "batch", "leaseMs", "candLimit"],
  };
}
