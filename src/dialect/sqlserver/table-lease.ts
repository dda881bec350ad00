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
 * OUTPUT says nothing but of the rows that were written (some servers know no other tables there), and in no order:
 * so the rows' places go with them, and are sorted by afterwards. Text ids of one place are sorted by their code
 * units there, which is their column's own order where its collation is the one that `ddl` writes.
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
import { walkStatements } from "./table-walk.ts";
import { GOING_ON } from "./transactions.ts";
import { utc, variableTypes } from "./types.ts";

/** @throws TypeError for a table without a lease column. */
export function leaseStatements(table: TableDescription, settings: LeaseSettings): LeaseStatements {
  const build = () => new TableSql(table);
  const { retry, ...settled } = settlements(build, settings, false);
  if (retry === undefined) throw new TypeError(`${table.name} has no lease column`);
  return {
    ...settled,
    retry,
    claim: table.fifo === "none" ? claim(build(), settings) : fifoLease(build(), settings),
    ...walkStatements(build(), settings),
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
  // In place of a turn, which of the two looks found the row: what a second one that fails has left is taken out.
  const { names, values } = claimedCells(sql, settings, { alias: "inserted", turn: "@window" });
  const places = placeCells(sql);
  const isClaimable = (alias: string) =>
    all(stillOfGroup(sql, settings, alias), sql.claimable(alias));
  const { limit } = sql;
  return sql.statement(`${AT_READ_COMMITTED}
${GOING_ON}
${declareClaimed(sql, settings, places.map(({ name, type }) => `, ${name} ${type} NULL`).join(""))}
DECLARE @window int = ${near}, @wanted int = ${limit};
WHILE @window > 0
BEGIN
BEGIN TRY
UPDATE i
SET ${assigned(leased(sql, settings))}
OUTPUT ${[values, ...places.map(({ value }) => value)].join(",\n  ")}
INTO @claimed (${[names, ...places.map(({ name }) => name)].join(", ")})
FROM (
  SELECT TOP (@wanted) l.${sql.id} AS id
  FROM (
    SELECT TOP (@window) due_row.id, ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_row")}) AS turn
    FROM (
${dueRows(sql, { conditions }, "@window")}
    ) AS due_row
    ORDER BY turn
  ) AS candidate
  INNER JOIN ${sql.name} AS l ${TAKING} ON l.${sql.id} = candidate.id
  WHERE ${isClaimable("l")}
  ORDER BY candidate.turn
) AS picked
INNER JOIN ${sql.name} AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) ON i.${sql.id} = picked.id
WHERE ${isClaimable("i")}
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END TRY
BEGIN CATCH
IF @window = ${near} OR XACT_STATE() = -1 OR NOT EXISTS (SELECT 1 FROM @claimed) THROW;
DELETE FROM @claimed WHERE turn = ${far};
END CATCH;
SET @wanted = ${limit} - (SELECT COUNT(*) FROM @claimed);
SET @window = CASE WHEN @window = ${near} AND @wanted > 0 THEN ${far} ELSE 0 END;
END;
${answerClaimed(sql, settings, { order: placeOrder(sql) })}`);
}

/** What a written row is sorted by, its id aside: columns of `@claimed`. */
function placeCells(sql: TableSql) {
  const due = sql.ordersByDue ? sql.of("retryAfter", "inserted") : undefined;
  const priority = sql.of("priority", "inserted");
  const { priority: column } = sql.table.roles;
  return [
    ...(priority === undefined || column === undefined
      ? []
      : [{ name: "priority", type: variableTypes[column.type], value: priority }]),
    ...(due === undefined ? [] : [{ name: "due", type: variableTypes.timestamp, value: utc(due) }]),
  ];
}

function placeOrder(sql: TableSql): string {
  const isText = sql.idColumn.type === "text";
  return place(sql, "t", isText ? "t.held COLLATE Latin1_General_BIN2" : "t.held");
}
