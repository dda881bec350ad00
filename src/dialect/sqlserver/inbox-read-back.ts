/**
 * What happened when the answer to a COMMIT was lost. Nothing is guessed: the database says, whenever it is asked.
 *
 * What tells is `claimed_at`. A claim sets it, a completion keeps it, and every other claim sets it anew, so a
 * processed row that still has ours was completed under our claim, and so by us. No other claim can have the
 * same: without our doing it begins when our lease has ended, by the database's own clock, and a lease is at
 * least some milliseconds long. What else takes a row out of work leaves it pending or dead.
 *
 * While the old session still holds the row it says `locked`, and one asks again. The read takes a shared lock
 * (READCOMMITTEDLOCK, with READ_COMMITTED_SNAPSHOT on too: a version would show the row as it was before a
 * completion that is about to commit, and call it ours) and skips what is locked (READPAST). NOLOCK is only asked
 * whether there is such a row. Where hints are ignored (Babelfish) a row that is held is read as it was: `ours`. The
 * retry that follows then waits for the old session, and its fence refuses where that has committed.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { time } from "./sql.ts";

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
  const { column, table } = names;
  return {
    text: `DECLARE @row uniqueidentifier = CAST(@p1 AS uniqueidentifier), @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
DECLARE @claimed datetime2(7) = ${time("@p3")};
SELECT CASE
  WHEN there.${column.id} IS NULL THEN 'gone'
  WHEN seen.${column.id} IS NULL THEN 'locked'
  WHEN ${names.processing("seen")} AND seen.${column.claimToken} = @own THEN 'ours'
  WHEN seen.${column.claimedAt} <> @claimed THEN 'taken'
  WHEN seen.${column.claimedAt} = @claimed AND seen.${column.consumption} = 'pull' AND seen.${column.state} = N'processed' THEN 'completed'
  ELSE 'other'
END AS [outcome]
FROM (SELECT @row AS [id]) AS g
LEFT JOIN ${table} AS there WITH (NOLOCK) ON there.${column.id} = g.[id]
LEFT JOIN ${table} AS seen WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON seen.${column.id} = g.[id];`,
    params: ["id", "token", "claimedAt"],
  };
}
