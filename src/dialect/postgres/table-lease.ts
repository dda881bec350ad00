/**
 * Leases: the claim writes until when the row is ours, and commits. What proves it later is the lease's
 * end and the attempt together: after a retry, a second claim may write the same end.
 *
 * What a fifo group asks for more stands in table-lease-fifo.ts.
 */
import type { TableDescription } from "../../table/description.ts";
import type { LeaseSettings, LeaseStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import {
  answered,
  claimableRows,
  claimedColumns,
  limited,
  stillOfGroup,
  withParts,
} from "./table-claim.ts";
import { extendable, takeFifoLeases, takeLeases, tokens } from "./table-custom.ts";
import { counted } from "./table-held.ts";
import { fifoClaim, leased, lockedRow } from "./table-lease-fifo.ts";
import { ackOrFail, extend, lockOrFail, lookAgain, readBack, release } from "./table-lease-hold.ts";
import { TableSql } from "./table-names.ts";
import { settlements } from "./table-settle.ts";
import { walkStatements } from "./table-walk.ts";

/** @throws TypeError for a table without a lease column. */
export function leaseStatements(table: TableDescription, settings: LeaseSettings): LeaseStatements {
  const build = () => new TableSql(table);
  const isFifo = table.fifo !== "none";
  const { retry, ...settled } = settlements(build, settings, false);
  if (retry === undefined) throw new TypeError(`${table.name} has no lease column`);
  return {
    ...settled,
    retry,
    claim: isFifo ? fifoClaim(build(), settings) : claim(build(), settings),
    ...walkStatements(build(), settings),
    ...(isFifo && { lookAgain: lookAgain(build()) }),
    extend: extend(build(), settings),
    release: release(build()),
    ackOrFail: ackOrFail(build()),
    lockOrFail: lockOrFail(build()),
    readBack: readBack(build()),
    ...(table.custom?.claim !== undefined && {
      take: (isFifo ? takeFifoLeases : takeLeases)(build(), settings),
    }),
    ...(table.custom?.extend !== undefined && {
      extendable: extendable(build(), settings),
      tokens: tokens(build()),
    }),
  };
}

function claim(sql: TableSql, settings: LeaseSettings): Statement {
  const rows = claimableRows(sql, settings);
  const locked = `locked AS (
  ${limited(
    sql,
    settings,
    `SELECT row.id
  FROM (
    ${rows.rows}
  ) AS candidate
  CROSS JOIN LATERAL (
    ${lockedRow(sql, "candidate.id", stillOfGroup(sql, settings))}
  ) AS row`,
  )}
)`;
  const changes = [leased(sql, settings), ...counted(sql)];
  const claimed = `claimed AS (
  UPDATE ${sql.name} AS i
  SET ${changes.map(({ column, value }) => `${column} = ${value}`).join(", ")}
  FROM locked
  WHERE i.${sql.id} = locked.id
  RETURNING ${claimedColumns(sql, settings)}
)`;
  return sql.statement(`${withParts([...rows.with, locked, claimed])}
${answered(sql, settings)}`);
}
