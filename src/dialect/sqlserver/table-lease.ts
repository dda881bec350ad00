/**
 * Leases: the claim writes until when the row is ours, and commits. What proves it later is the lease's
 * end and the attempt together: after a retry, a second claim may write the same end.
 *
 * A claim is one UPDATE, which is a transaction of its own: candidates are read without a lock that stays, the
 * rows taken one by one under update locks until there are enough, and written. What a claimer beside it sees:
 * it passes over the rows while they are locked (READPAST), and afterwards finds their leases. The UPDATE asks
 * the whole question again of the rows that it writes, so that a server that takes the hints for comments, and
 * lets the second claimer wait for the first, still gives a row to one of them.
 *
 * OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1) keeps the order that the text has: candidates in their order, then
 * each by its id. Else the optimizer might read the whole table, and lock all of it, to look up a few ids. What
 * it may still do is to lock all of the candidates; hence the second, far window.
 *
 * All of this reads alike with READ_COMMITTED_SNAPSHOT on and off: the hints say so (see table-order.ts).
 */
import type { TableDescription } from "../../table/description.ts";
import type { LeaseSettings, LeaseStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import {
  answerClaimed,
  claimedCells,
  declareClaimed,
  ofGroup,
  stillOfGroup,
  windows,
} from "./table-claim.ts";
import { extendable, takeLeases, tokens } from "./table-custom.ts";
import { fifoClaim } from "./table-fifo.ts";
import { assigned, type Change, counted, inTransaction } from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { ackOrFail, extend, lockOrFail, readBack, release } from "./table-lease-hold.ts";
import { all, TableSql } from "./table-names.ts";
import { AT_READ_COMMITTED, dueRows, place, TAKING } from "./table-order.ts";
import { settlements } from "./table-settle.ts";

/** @throws TypeError for a table without a lease column. */
export function leaseStatements(table: TableDescription, settings: LeaseSettings): LeaseStatements {
  const build = () => new TableSql(table);
  const { retry, ...settled } = settlements(build, settings, false);
  if (retry === undefined) throw new TypeError(`${table.name} has no lease column`);
  return {
    ...settled,
    retry,
    claim: table.fifo === "none" ? claim(build(), settings) : fifoLease(build(), settings),
    extend: extend(build(), settings),
    release: release(build()),
    ackOrFail: ackOrFail(build()),
    lockOrFail: lockOrFail(build()),
    readBack: readBack(build()),
    ...(table.custom?.claim !== undefined && { take: take(build(), settings) }),
    ...(table.custom?.extend !== undefined && {
      extendable: extendable(build(), settings),
      tokens: tokens(build()),
    }),
  };
}

/** The lease's end, and one more attempt. */
function leased(sql: TableSql, settings: LeaseSettings): readonly Change[] {
  return [
    { column: sql.column("lockedUntil") ?? "", value: leaseEnd(sql, settings) },
    ...counted(sql),
  ];
}

function take(sql: TableSql, settings: LeaseSettings): Statement {
  return takeLeases(sql, settings, leased(sql, settings));
}

/** Groups are locked for a transaction, and each row is an UPDATE. */
function fifoLease(sql: TableSql, settings: LeaseSettings): Statement {
  return inTransaction(fifoClaim(sql, settings, leased(sql, settings)), () => false);
}

function claim(sql: TableSql, settings: LeaseSettings): Statement {
  const conditions = [...ofGroup(sql, settings), ...sql.open(), ...sql.free()];
  const [near, far] = windows(settings);
  const { names, values } = claimedCells(sql, settings, {
    alias: "inserted",
    turn: "@base + picked.turn",
  });
  const isClaimable = (alias: string) =>
    all(stillOfGroup(sql, settings, alias), sql.claimable(alias));
  const { limit } = sql;
  return sql.statement(`${AT_READ_COMMITTED}
${declareClaimed(sql, settings)}
DECLARE @window int = ${near}, @base int = 0, @wanted int = ${limit};
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET ${assigned(leased(sql, settings))}
OUTPUT ${values}
INTO @claimed (${names})
FROM (
  SELECT TOP (@wanted) row_found.id, candidate.turn
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_row")}) AS turn
    FROM (
${dueRows(sql, { conditions }, "@window")}
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  CROSS APPLY (
    SELECT l.${sql.id} AS id
    FROM ${sql.name} AS l ${TAKING}
    WHERE l.${sql.id} = candidate.id AND ${isClaimable("l")}
  ) AS row_found
  ORDER BY candidate.turn
) AS picked
INNER JOIN ${sql.name} AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.${sql.id} = picked.id
WHERE ${isClaimable("i")}
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @base = 0 OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn > @base;
END CATCH;
SET @wanted = ${limit} - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = ${near} AND @wanted > 0 THEN ${far} ELSE 0 END;
SET @base = 1000000;
END;
${answerClaimed(sql, settings)}`);
}
