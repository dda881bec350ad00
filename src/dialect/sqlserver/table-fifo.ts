/**
 * Fifo groups: the first row of a group is claimed, and only while no other row of it is in work.
 *
 *     the groups whose heads can be claimed, in the order of the heads
 *       --> for each: the group's application lock, if it is free
 *         --> its head, read again --> [leases: no other row has one that holds] --> taken
 *
 * The application lock is the transaction's. In the row lock form it lasts as long as the row is in work, so that a
 * row with an earlier place that becomes visible meanwhile waits. In the lease form it lasts until the claim's
 * commit: two claims of a group come one after the other, and the second sees the first one's lease. So there is
 * nothing to look at again afterwards.
 *
 * The head is read as it is committed, and a row that somebody is changing is not passed over (READPAST would
 * take the second row for the first): NOWAIT makes it an error at once, Msg 1222, and its group is left for this
 * time. So a claim waits for nobody, and a settlement that is under way, an insert before the head, or a handler's
 * transaction that holds a row of the group keep the group to themselves until they have ended. With
 * READ_COMMITTED_SNAPSHOT it is the same: READCOMMITTEDLOCK reads no versions.
 *
 * An error that is caught leaves the transaction usable, as XACT_ABORT is off for the batch.
 */
import type { ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { giveLock, lockName, takeLock } from "./lock-name.ts";
import { answerClaimed, claimedCells, declareClaimed } from "./table-claim.ts";
import { assigned, type Change, NEVER, unleased } from "./table-given.ts";
import { findGroups } from "./table-groups.ts";
import { all, type TableSql } from "./table-names.ts";
import { inPlace, placeVariables, readFirst, SEEING, TAKING } from "./table-order.ts";
import { GOING_ON } from "./transactions.ts";

/** The name of the application lock of a group, by its value as text. */
export function groupLockName(sql: TableSql, value: string): string {
  return lockName(`${sql.lockPrefix} + N'group ' + ${value}`);
}

/** A claim that writes `changes`, or nothing. */
export function fifoClaim(
  sql: TableSql,
  settings: ClaimSettings,
  changes: readonly Change[] = [],
): Statement {
  const { group } = sql.table.roles;
  if (group === undefined) throw new TypeError("a fifo table has a group column");
  const { limit } = sql;
  const isHead = [...sql.isValue(group, "@value", "h"), ...sql.open("h")];
  const placed = placeVariables(sql).map(({ name, of }) => `@${name} = ${of("h")}`);
  const steps = `${readFirst(sql, isHead, [`@id = h.${sql.id}`, ...placed])}
${claimHead(sql, settings, { changes, turn: "@turn", still: inPlace(sql) })}`;
  return sql.statement(`${GOING_ON}
${findGroups(sql, settings, group)}
${declareClaimed(sql, settings)}
DECLARE @turn int = 1, @taken int = 0, @granted int, @lock nvarchar(255), @named nvarchar(4000);
WHILE @turn <= @found AND @taken < ${limit}
BEGIN
SELECT @value = q.value, @named = q.named FROM @queue AS q WHERE q.turn = @turn;
SET @lock = ${groupLockName(sql, "@named")};
${takeLock("Transaction")}
IF @granted >= 0
BEGIN
BEGIN TRY
${steps}
END TRY
BEGIN CATCH
IF ERROR_NUMBER() <> 1222 OR XACT_STATE() = -1 THROW;
END CATCH;
IF EXISTS (SELECT 1 FROM @claimed AS t WHERE t.turn = @turn)
SET @taken = @taken + 1;
ELSE
${giveLock("Transaction")}
END;
SET @turn = @turn + 1;
END;
${answerClaimed(sql, settings)}`);
}

/** A head is taken as `turn`, and `changes` are written to it. */
interface Head {
  readonly changes: readonly Change[];
  readonly turn: string;
  /** What is asked of it under its lock, beside that it can be claimed. */
  readonly still?: readonly string[];
}

/** Takes the row `@id` of the group `@value`, whose application lock is held. */
export function claimHead(sql: TableSql, settings: ClaimSettings, head: Head): string {
  const take = taking(sql, settings, head);
  return head.changes.length === 0 ? take : takeLease(sql, take);
}

/** Takes the head `@id`: the row is looked at again under its lock. */
function taking(
  sql: TableSql,
  settings: ClaimSettings,
  { changes, still = [], turn }: Head,
): string {
  const { group } = sql.table.roles;
  if (group === undefined) throw new TypeError("a fifo table has a group column");
  const isWrites = changes.length > 0;
  const alias = isWrites ? "inserted" : "i";
  const { names, values } = claimedCells(sql, settings, { alias, turn });
  const from = `FROM ${sql.name} AS i ${TAKING}
WHERE ${all(`i.${sql.id} = @id`, sql.stillIs(group, "@value"), still, sql.claimable())};`;
  return isWrites
    ? `UPDATE i
SET ${assigned(changes)}
OUTPUT ${values}
INTO @claimed (${names})
${from}`
    : `INSERT INTO @claimed (${names})
SELECT ${values}
${from}`;
}

/**
 * The head, where no other row of the group has a lease that holds. Leases of the group that have run out are
 * taken out of their holders' hands before; one that its handler's transaction has locked keeps its group.
 */
function takeLease(sql: TableSql, take: string): string {
  const { group, lockedUntil } = sql.table.roles;
  const lease = sql.of("lockedUntil", "o");
  if (group === undefined || lease === undefined) throw new TypeError("a lease needs its column");
  const others = [...sql.isValue(group, "@value", "o"), ...sql.open("o"), `o.${sql.id} <> @id`];
  const hadOne = lockedUntil?.nullable === false ? `${lease} > ${NEVER}` : `${lease} IS NOT NULL`;
  return `IF @id IS NOT NULL AND NOT EXISTS (
SELECT 1 FROM ${sql.name} AS o ${SEEING}
WHERE ${all(others, `${lease} > ${sql.now}`)}
)
BEGIN
UPDATE o
SET ${assigned(unleased(sql))}
FROM ${sql.name} AS o WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)
WHERE ${all(others, hadOne, `${lease} <= ${sql.now}`)};
${take}
END;`;
}
