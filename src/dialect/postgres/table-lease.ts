/**
 * Leases: the claim writes until when the row is ours, and commits. What proves it later is the lease's
 * end and the attempt together: after a retry, a second claim may write the same end.
 *
 * In a fifo group only the head is claimed, and only while no other row of the group has a lease that
 * holds. Two claims at once can each find that true, so after its commit each looks again (see
 * inbox-look-again.ts, where the reasoning stands). Rows of the group whose leases have run out are
 * taken out of their holders' hands by the same statement; one that its handler's transaction
 * has locked keeps its group.
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
import { extendable, takeLeases, tokens } from "./table-custom.ts";
import { groupHeads } from "./table-fifo.ts";
import { type Change, counted, unleased } from "./table-held.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { ackOrFail, extend, lockOrFail, lookAgain, readBack, release } from "./table-lease-hold.ts";
import { all, cast, TableSql } from "./table-names.ts";
import { settlements } from "./table-settle.ts";

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
    ...(isFifo && { lookAgain: lookAgain(build()) }),
    extend: extend(build(), settings),
    release: release(build()),
    ackOrFail: ackOrFail(build()),
    lockOrFail: lockOrFail(build()),
    readBack: readBack(build()),
    ...(table.custom?.claim !== undefined && { take: takeLeases(build(), settings) }),
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
    ${lockedRow(sql, settings, "candidate.id")}
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

/** The row is held until the lease's new end. */
function leased(sql: TableSql, settings: LeaseSettings): Change {
  return { column: sql.column("lockedUntil") ?? "", value: leaseEnd(sql, settings) };
}

function lockedRow(sql: TableSql, settings: LeaseSettings, id: string): string {
  return `SELECT i.${sql.id} AS id
    FROM ${sql.name} AS i
    WHERE ${all(`i.${sql.id} = ${id}`, stillOfGroup(sql, settings), sql.claimable())}
    FOR UPDATE SKIP LOCKED`;
}

function fifoClaim(sql: TableSql, settings: LeaseSettings): Statement {
  const { heads, parts } = groupHeads(sql, settings);
  const { group } = sql.table.roles;
  const lease = sql.of("lockedUntil", "o");
  const others = all(
    `${sql.of("group", "o")} = ${group === undefined ? "NULL" : cast("head.group_key", group)}`,
    `${lease} IS NOT NULL`,
    sql.open("o"),
    `o.${sql.id} <> head.id`,
  );
  const locked = `locked AS (
  ${limited(
    sql,
    settings,
    `SELECT row.id, stale.ids AS stale
  FROM (${heads}) AS head
  CROSS JOIN LATERAL (
    SELECT count(*) AS leased, coalesce(bool_or(other.lease > ${sql.now}), false) AS live
    FROM (
      SELECT ${lease} AS lease
      FROM ${sql.name} AS o
      WHERE head.ready AND ${others}
      ORDER BY ${lease} DESC
      LIMIT ${othersSeen}
    ) AS other
  ) AS busy
  CROSS JOIN LATERAL (
    SELECT array_agg(expired.id) AS ids, count(*) AS leased
    FROM (
      SELECT o.${sql.id} AS id
      FROM ${sql.name} AS o
      WHERE busy.leased > 0 AND NOT busy.live AND ${others} AND ${lease} <= ${sql.now}
      ORDER BY ${lease} DESC
      LIMIT ${othersSeen}
      FOR UPDATE SKIP LOCKED
    ) AS expired
  ) AS stale
  CROSS JOIN LATERAL (
    SELECT locked.id
    FROM (
      ${lockedRow(sql, settings, "head.id")}
    ) AS locked
    OFFSET 0
  ) AS row
  WHERE head.ready AND NOT busy.live AND stale.leased = busy.leased`,
  )}
)`;
  const taken = [leased(sql, settings), ...counted(sql)];
  const [cleared] = unleased(sql);
  const changes = taken.map(({ column, value }) => {
    const otherwise = column === cleared?.column ? cleared.value : `i.${column}`;
    return `${column} = CASE WHEN change.takes THEN ${value} ELSE ${otherwise} END`;
  });
  const changed = `changed AS (
  UPDATE ${sql.name} AS i
  SET ${changes.join(",\n      ")}
  FROM (
    SELECT locked.id, true AS takes FROM locked
    UNION ALL SELECT unnest(locked.stale), false FROM locked
  ) AS change
  WHERE i.${sql.id} = change.id
  RETURNING change.takes, ${claimedColumns(sql, settings)}
), claimed AS (
  SELECT * FROM changed WHERE changed.takes
)`;
  return sql.statement(`${withParts([...parts, locked, changed])}
${answered(sql, settings)}`);
}

/**
 * How many rows of a group, beside its head, may have had a lease. There is one at most, if nobody claims
 * without the group's order; the bound is for the planner, which expects hundreds in each group and would
 * compile so dear a statement (37 ms).
 */
const othersSeen = 20;
