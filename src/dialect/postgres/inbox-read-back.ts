/**
 * What happened when the answer to a COMMIT was lost. Nothing is guessed: the database says.
 *
 * It is the row that tells: while the old session still holds it, it says `locked`, and one asks again.
 * The transaction's own id (pg_xact_status) could tell too, but would have to be known before the
 * COMMIT is sent, and the completion travels together with it.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";

/** What {@link readBackStatement} answers. */
export type InboxReadBack = "ours" | "locked" | "other" | "gone";

/**
 * Where a message stands now. Answers one row, `outcome` and `state`: `ours`: in work under our
 * token, so the transaction did not commit; `locked`: a transaction that has not ended holds the row;
 * `other`: no longer ours, and `state` says what it is; `gone`: there is no such row.
 * Parameters: id, token.
 */
export function readBackStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    // FOR SHARE conflicts with the lock of a completion's UPDATE, and lives as long as this statement.
    text: `WITH seen AS MATERIALIZED (
  SELECT i.${column.state} AS state FROM ${names.table} AS i WHERE i.${column.id} = $1::uuid
), unlocked AS MATERIALIZED (
  SELECT i.${column.state} AS state, i.${column.claimToken} = $2::uuid AND ${names.processing("i")} AS ours
  FROM ${names.table} AS i
  WHERE i.${column.id} = $1::uuid
  FOR SHARE SKIP LOCKED
)
SELECT
  CASE
    WHEN seen.state IS NULL THEN 'gone'
    WHEN unlocked.state IS NULL THEN 'locked'
    WHEN unlocked.ours THEN 'ours'
    ELSE 'other'
  END AS outcome,
  coalesce(unlocked.state, seen.state) AS state
FROM (SELECT 1) AS one LEFT JOIN seen ON true LEFT JOIN unlocked ON true`,
    params: ["id", "token"],
  };
}
