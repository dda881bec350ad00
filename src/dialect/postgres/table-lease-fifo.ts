/**
 * Leases in fifo groups: only the head is claimed, and only while no other row of the group has a lease that
 * holds. Two claims at once can each find that true, so after its commit each looks again (see
 * inbox-look-again.ts, where the reasoning stands). Rows of the group whose leases have run out are
 * taken out of their holders' hands by the same statement; one that its handler's transaction
 * has locked keeps its group.
 */
import type { LeaseSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { answered, claimedColumns, limited, withParts } from "./table-claim.ts";
import { groupHeads, inPlace } from "./table-fifo.ts";
import { type Change, counted, unleased } from "./table-held.ts";
import { leaseEnd } from "./table-lease-end.ts";
import { all, cast, type TableSql } from "./table-names.ts";

export function fifoClaim(sql: TableSql, settings: LeaseSettings): Statement {
  const { heads, parts } = groupHeads(sql, settings);
  const locked = `locked AS (
  ${limited(sql, settings, lockedHeads(sql, { heads: `(${heads})`, still: inPlace(sql, "head") }))}
)`;
  return sql.statement(`${withParts([...parts, locked, leasedHeads(sql, settings)])}
${answered(sql, settings)}`);
}

export interface Heads {
  /** What stands in FROM: `id`, `group_key`, `ready`, and what else `more` and `still` name. */
  readonly heads: string;
  readonly more?: string;
  /** What is asked of each under its lock, beside that it can be claimed. */
  readonly still: readonly string[];
}

/** The rows of `heads`, locked, of groups that nobody works: `id`, and `stale`, those of its group whose leases have run out. */
export function lockedHeads(sql: TableSql, { heads, more = "", still }: Heads): string {
  const { group } = sql.table.roles;
  const lease = sql.of("lockedUntil", "o");
  const others = all(
    `${sql.of("group", "o")} = ${group === undefined ? "NULL" : cast("head.group_key", group)}`,
    `${lease} IS NOT NULL`,
    sql.open("o"),
    `o.${sql.id} <> head.id`,
  );
  return `SELECT row.id, stale.ids AS stale${more}
  FROM ${heads} AS head
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
      ${lockedRow(sql, "head.id", still)}
    ) AS locked
    OFFSET 0
  ) AS row
  WHERE head.ready AND NOT busy.live AND stale.leased = busy.leased`;
}

/** The rows of `locked` with their leases written, as `claimed`, and those that they take over without theirs. */
export function leasedHeads(sql: TableSql, settings: LeaseSettings, more = ""): string {
  const taken = [leased(sql, settings), ...counted(sql)];
  const [cleared] = unleased(sql);
  const changes = taken.map(({ column, value }) => {
    const otherwise = column === cleared?.column ? cleared.value : `i.${column}`;
    return `${column} = CASE WHEN change.takes THEN ${value} ELSE ${otherwise} END`;
  });
  return `changed AS (
  UPDATE ${sql.name} AS i
  SET ${changes.join(",\n      ")}
  FROM (
    SELECT locked.id, true AS takes${more && `, locked.${more}`} FROM locked
    UNION ALL SELECT unnest(locked.stale), false${more && `, locked.${more}`} FROM locked
  ) AS change
  WHERE i.${sql.id} = change.id
  RETURNING change.takes${more && `, change.${more}`}, ${claimedColumns(sql, settings)}
), claimed AS (
  SELECT * FROM changed WHERE changed.takes
)`;
}

/** The row is held until the lease's new end. */
export function leased(sql: TableSql, settings: LeaseSettings): Change {
  return { column: sql.column("lockedUntil") ?? "", value: leaseEnd(sql, settings) };
}

/** The row, if it can be claimed and `still` is true of it under its lock. */
export function lockedRow(sql: TableSql, id: string, still: readonly string[]): string {
  return `SELECT i.${sql.id} AS id
    FROM ${sql.name} AS i
    WHERE ${all(`i.${sql.id} = ${id}`, still, sql.claimable())}
    FOR UPDATE SKIP LOCKED`;
}

/**
 * How many rows of a group, beside its head, may have had a lease. There is one at most, if nobody claims
 * without the group's order; the bound is for the planner, which expects hundreds in each group and would
 * compile so dear a statement (37 ms).
 */
const othersSeen = 20;
