/**
 * What happened when the answer to a COMMIT was lost. Nothing is guessed: the database says, whenever
 * it is asked.
 *
 * What tells is `claimed_at`. A claim sets it, a completion keeps it, and every other claim sets it
 * anew, so a processed row that still has ours was completed under our claim, and so by us. No other
 * claim can have the same: without our doing it begins when our lease has ended, by the database's own
 * clock, and a lease is at least some milliseconds long. What else takes a row out of work leaves it
 * pending or dead, and nothing but a completion makes it processed.
 *
 * While the old session still holds the row it says `locked`, and one asks again. The transaction's own
 * id (pg_xact_status) could tell too, but would have to be known before the COMMIT is sent, and the
 * completion travels together with it.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { isoTime } from "./sql.ts";

/**
 * Where a message stands now. Answers one row, `outcome`:
 *
 * - `completed`: by us; our transaction committed.
 * - `ours`: in work under our token, so our transaction did not commit.
 * - `taken`: another claim came after ours, so our transaction did not commit.
 * - `locked`: a transaction that has not ended holds the row.
 * - `gone`: there is no such row.
 * - `other`: anything else; somebody gave the row back, or changed it by hand.
 *
 * Parameters: id, token, claimedAt (as the claim answered it).
 */
export function readBackStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  return {
    // FOR SHARE conflicts with the lock of a completion's UPDATE, and lives as long as this statement.
    text: `WITH seen AS MATERIALIZED (
  SELECT i.${column.id} AS id FROM ${names.table} AS i WHERE i.${column.id} = $1::uuid
), unlocked AS MATERIALIZED (
  SELECT
    i.${column.claimToken} = $2::uuid AND ${names.processing("i")} AS ours,
    i.${column.consumption} = 'pull' AND i.${column.state} = 'processed' AS processed,
    ${isoTime(`i.${column.claimedAt}`)} AS claimed_at
  FROM ${names.table} AS i
  WHERE i.${column.id} = $1::uuid
  FOR SHARE SKIP LOCKED
)
SELECT CASE
  WHEN seen.id IS NULL THEN 'gone'
  WHEN unlocked.processed IS NULL THEN 'locked'
  WHEN unlocked.ours THEN 'ours'
  WHEN unlocked.claimed_at <> $3::text THEN 'taken'
  WHEN unlocked.claimed_at = $3::text AND unlocked.processed THEN 'completed'
  ELSE 'other'
END AS outcome
FROM (SELECT 1) AS one LEFT JOIN seen ON true LEFT JOIN unlocked ON true`,
    params: ["id", "token", "claimedAt"],
  };
}
