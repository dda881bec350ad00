/**
 * Leases: the claim writes until when the row is ours, and commits. What proves it later is the lease's
 * end and the attempt together: after a retry, a second claim may write the same end.
 *
 * Neither MySQL nor MariaDB says what an UPDATE has written. So a claim locks its rows and answers the end and
 * the attempt that they are to have, and one UPDATE stamps all of them; all of it in one short transaction at
 * READ COMMITTED, where a lock is a row's own and not that of the gap before it.
 */
import type { TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { LeaseSettings, LeaseStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { time } from "./sql.ts";
import { reading, readRows, stamped, type Taking } from "./table-claim.ts";
import { extendable, takeFifoLeases, takeLeases, tokens } from "./table-custom.ts";
import { fifoClaim } from "./table-fifo.ts";
import { assigned, type Change, counted, given, isGiven } from "./table-given.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { extend, lookAgain, readBack, release } from "./table-lease-hold.ts";
import { TableSql } from "./table-names.ts";
import { type Build, lockOurs, orFail, programOf } from "./table-program.ts";
import { acknowledging, settlements } from "./table-settle.ts";
import { walkStatements } from "./table-walk.ts";

/** @throws TypeError for a table without a lease column. */
export function leaseStatements(table: TableDescription, settings: LeaseSettings): LeaseStatements {
  const build = () => new TableSql(table);
  const isFifo = table.fifo !== "none";
  const { retry, ...settled } = settlements(build, settings, false);
  if (retry === undefined) throw new TypeError(`${table.name} has no lease column`);
  const taking = (sql: TableSql): Taking => ({ counts: true, leaseEnd: leaseEnd(sql, settings) });
  const stamp = stamping(build());
  return {
    ...settled,
    retry,
    claim: isFifo
      ? fifoClaim(build, settings, taking, stamp)
      : claim(build, settings, taking, stamp),
    ...walkStatements(build(), settings),
    ...(isFifo && { lookAgain: lookAgain(build()) }),
    extend: extend(build, settings),
    release: release(build),
    ackOrFail: orFail(acknowledging(build), "rows acknowledged"),
    lockOrFail: orFail(lockOurs(build(), true), "rows locked"),
    readBack: readBack(build),
    ...(table.custom?.claim !== undefined && {
      take: (isFifo ? takeFifoLeases : takeLeases)(build, settings, taking, stamp),
    }),
    ...(table.custom?.extend !== undefined && {
      extendable: extendable(build, settings),
      tokens: tokens(build()),
    }),
  };
}

function claim(
  build: Build,
  settings: LeaseSettings,
  taking: (sql: TableSql) => Taking,
  stamp: Statement,
): Statement {
  const rows = reading(build, settings, taking);
  return programOf([rows.near, rows.far, stamp], function* (values) {
    const claimed = yield* readRows(rows, values);
    if (claimed.length > 0) yield bind(stamp, stamped(values, claimed));
    return claimed;
  });
}

/** Writes the lease's end that the claim has answered, and counts the attempt. */
function stamping(sql: TableSql): Statement {
  const lease = sql.column("lockedUntil") ?? "";
  const changes: Change[] = [{ column: lease, value: time("g.token") }, ...counted(sql)];
  return sql.statement(`UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned(changes)}`);
}
