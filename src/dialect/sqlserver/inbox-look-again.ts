/**
 * The second half of a claim: what makes "one message of an aggregate in work" true beside others.
 *
 * Claims of one source come one after the other, by the lock of the source, and each sees what the one before has
 * committed: among claims with that lock the look finds nothing. It is there for what the lock cannot see:
 *
 * - a worker whose claim takes another lock, or none: a statement written by hand, another client;
 * - a renewal on its way just when its lease seemed to have ended. With READ_COMMITTED_SNAPSHOT on, the claim
 *   reads the lease as it was, takes another message of the aggregate, and the renewal commits.
 *
 * Whoever sees another live claim of the aggregate gives its own row back, before the handler starts. It is one
 * seek for each message with an aggregate, in a statement of its own behind the claim's COMMIT, and it must stand
 * there: before that, the other side may not see us, and neither would step back. (A claim that does not
 * look itself keeps its row, and ours goes back.)
 *
 * No hint: READ COMMITTED waits for a change of such a row to be committed, and with READ_COMMITTED_SNAPSHOT on sees
 * what was committed.
 */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { settling } from "./inbox-settle.ts";
import { listed, uuidText } from "./sql.ts";

/**
 * Which of the rows just claimed share their aggregate with another row in work: answers `id` for each row to
 * give back. Two rows of one aggregate under one token cannot happen; if they do, the later one is given back.
 * Parameters: ids (a list), token.
 */
export function lookAgainStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  const isEarlier = `(
        other.${column.scheduledAt} < mine.${column.scheduledAt}
        OR (other.${column.scheduledAt} = mine.${column.scheduledAt} AND other.${column.createdAt} < mine.${column.createdAt})
        OR (other.${column.scheduledAt} = mine.${column.scheduledAt} AND other.${column.createdAt} = mine.${column.createdAt}
          AND other.${column.id} < mine.${column.id})
      )`;
  return {
    text: `${settling}
DECLARE @own uniqueidentifier = CAST(@p2 AS uniqueidentifier);
SELECT ${uuidText(`mine.${column.id}`)} AS [id]
FROM ${listed("@p1", "g", [["id", "uniqueidentifier"]])}
INNER JOIN ${table} AS mine ON mine.${column.id} = g.[id]
WHERE mine.${column.claimToken} = @own
  AND ${names.processing("mine")}
  AND EXISTS (
    SELECT 1
    FROM ${table} AS other
    WHERE other.${column.source} = mine.${column.source}
      AND other.${column.aggregateId} = mine.${column.aggregateId}
      AND ${names.live("other")}
      AND other.${column.id} <> mine.${column.id}
      AND (other.${column.claimToken} <> @own OR ${isEarlier})
  );`,
    params: ["ids", "token"],
  };
}
