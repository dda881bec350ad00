/**
 * The lock of a source: what every claim takes first, in an earlier statement of its own transaction.
 *
 * It is an application lock of the transaction, so it ends with the claim's COMMIT or ROLLBACK, whatever happens
 * to the client. Claims of one source come one after the other, and each statement behind the lock reads what
 * the claim before has committed: under READ COMMITTED, with READ_COMMITTED_SNAPSHOT on or off, each statement
 * sees the commits before its own start. (Under SNAPSHOT or REPEATABLE READ the transaction would see the table
 * as it was before the wait: the level is said when the transaction is opened.)
 *
 * The lock's name. Names of locks are compared by their bytes, sources by their column's collation, where N'Orders'
 * and N'orders' or N'a' and N'a ' may be one source. So the name is made of CHECKSUM, which is equal for all
 * that the collation calls equal, and holds no character of the source: nothing can be lost to a code page or
 * cut off. Two other sources may get one checksum (one pair in four billion, by chance): they then wait for each
 * other, and no more.
 *
 * - The parameter gets the column's collation by a UNION with no rows of the column; by itself it would have the
 *   database's.
 * - A server whose CHECKSUM looks at bytes (Babelfish) is told the same by UPPER, where the collation does not
 *   tell cases apart; where it does, the two are two sources, and two locks.
 * - The table is in it by its number, which is one for `inbox`, `dbo.inbox` and `DBO.Inbox`.
 */
import type { InboxNames } from "./inbox-names.ts";
import { declareNow, literal } from "./sql.ts";

/** How long a claim waits for the claims of others, in milliseconds. */
const lockTimeoutMs = 10_000;

/**
 * The start of a claim's batch: the source as `@src`, its lock, and then `@now`, read when the lock is there.
 *
 * XACT_ABORT ends the batch and its transaction at an error, of which some would let the next statement run. It
 * and NOCOUNT end with the batch, which runs within `sp_executesql`.
 *
 * @throws in the database: 51000, where the lock was not to be had in time. The same again may work.
 */
export function locked(names: InboxNames, source: string): string {
  const { column, objectId, table } = names;
  return `SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @src nvarchar(4000) = ${source};
DECLARE @lock nvarchar(255), @got int, @why nvarchar(2048);
SELECT @lock = CONCAT(${literal("intray inbox ")}, ${objectId}, N' ', CHECKSUM(RTRIM(
  CASE WHEN UPPER(s.${column.source}) = LOWER(s.${column.source}) THEN UPPER(s.${column.source}) ELSE s.${column.source} END
)))
FROM (SELECT i.${column.source} FROM ${table} AS i WHERE 1 = 0 UNION ALL SELECT @src) AS s;
EXEC @got = sp_getapplock @Resource = @lock, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = ${lockTimeoutMs};
IF @got < 0
BEGIN
  SET @why = CONCAT(${literal("intray: the lock of the source was not to be had within 10 s, or no transaction is open (sp_getapplock: ")}, @got, N')');
  THROW 51000, @why, 1;
END;
${declareNow}`;
}
