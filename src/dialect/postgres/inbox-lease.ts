/**
 * Keeping leases and giving rows back. Lists travel as one text parameter, `{a,b,c}` (`arrayText`), and
 * become an array on the server.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { type InboxNames, inboxNames } from "./inbox-names.ts";
import { fence } from "./inbox-settle.ts";
import { milliseconds } from "./sql.ts";

/** One lease ends later. Parameters: leaseMs, id, token. */
export function renewStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  return {
    text: `UPDATE ${names.table} AS i
SET ${names.column.leaseExpiresAt} = clock_timestamp() + ${milliseconds("$1")}
WHERE ${fence(names, "$2", "$3")}`,
    params: ["leaseMs", "id", "token"],
  };
}

/** What {@link renewAllStatement} answers for a row. */
export type InboxRenewal = "extended" | "locked" | "lost";

/**
 * All leases in hand end later, in one statement that waits for nobody: a row that its own completion
 * (or anybody) has locked is skipped. Answers `id` and `outcome` for each given row: `extended`;
 * `locked`: ours still, as far as can be seen, but not to be had now; `lost`.
 * Parameters: leaseMs, ids, tokens (two lists of one length).
 */
export function renewAllStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `WITH given AS MATERIALIZED (
  SELECT g.id, g.token FROM unnest($2::text::uuid[], $3::text::uuid[]) AS g (id, token)
), ours AS MATERIALIZED (
  SELECT i.${column.id} AS id
  FROM given JOIN ${names.table} AS i ON ${held(names)}
  WHERE i.${column.leaseExpiresAt} > clock_timestamp()
), locked AS MATERIALIZED (
  SELECT i.${column.id} AS id
  FROM given JOIN ${names.table} AS i ON ${held(names)}
  WHERE i.${column.leaseExpiresAt} > clock_timestamp()
  ORDER BY i.${column.id}
  FOR NO KEY UPDATE OF i SKIP LOCKED
), extended AS (
  UPDATE ${names.table} AS i
  SET ${column.leaseExpiresAt} = clock_timestamp() + ${milliseconds("$1")}
  FROM locked
  WHERE i.${column.id} = locked.id
  RETURNING i.${column.id} AS id
)
SELECT
  given.id::text AS id,
  CASE
    WHEN extended.id IS NOT NULL THEN 'extended'
    WHEN ours.id IS NOT NULL THEN 'locked'
    ELSE 'lost'
  END AS outcome
FROM given
LEFT JOIN extended ON extended.id = given.id
LEFT JOIN ours ON ours.id = given.id`,
    params: ["leaseMs", "ids", "tokens"],
  };
}

/**
 * Gives rows back: pending again, due as before, as if they had never been claimed. Only while the
 * token is still ours; the lease may be over, since nobody else holds the row then. A locked row is
 * skipped: its own transaction decides what becomes of it, and a give-back that waited for one whose
 * connection has died would hang as long as the server takes to notice. Answers `id` for each row
 * given back. `charges`: what the claim had added to the attempt (0 or 1), taken off again.
 * Parameters: ids, tokens, charges (three lists of one length).
 */
export function releaseAllStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    text: `WITH given AS MATERIALIZED (
  SELECT g.id, g.token, g.charge
  FROM unnest($1::text::uuid[], $2::text::uuid[], $3::text::int[]) AS g (id, token, charge)
), locked AS MATERIALIZED (
  SELECT i.${column.id} AS id, given.charge
  FROM given JOIN ${names.table} AS i ON ${held(names)}
  ORDER BY i.${column.id}
  FOR NO KEY UPDATE OF i SKIP LOCKED
)
UPDATE ${names.table} AS i
SET ${column.state} = 'pending',
    ${column.attempt} = greatest(i.${column.attempt} - locked.charge, 0),
    ${column.claimToken} = NULL,
    ${column.claimedAt} = NULL,
    ${column.leaseExpiresAt} = NULL
FROM locked
WHERE i.${column.id} = locked.id
RETURNING i.${column.id}::text AS id`,
    params: ["ids", "tokens", "charges"],
  };
}

function held(names: InboxNames): string {
  const { column } = names;
  return `i.${column.id} = given.id AND ${names.processing("i")} AND i.${column.claimToken} = given.token`;
}
