/**
 * Fifo groups: only the first row of a group can be claimed, and only while no other row of it has a lease.
 *
 * A row that was not the first any more when its lease ran out (one with an earlier place came in between)
 * may still be settled by who held it: so the claim that takes its group over clears its lease first, and
 * what that left a moment ago is all that the claim itself looks at.
 */
import type { ClaimSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { claimedColumns, inOrder } from "./table-claim.ts";
import { assigned, type Change, never, unleased } from "./table-held.ts";
import { all, type TableSql } from "./table-names.ts";
import { firstRow, place, placed } from "./table-order.ts";
import { groupWalk } from "./table-walk.ts";

export function fifoClaim(
  build: () => TableSql,
  settings: ClaimSettings,
  leased: (sql: TableSql) => readonly Change[],
): Statement {
  const stale = build();
  const sql = build();
  const claim = sql.statement(`WITH RECURSIVE ${heads(sql, settings)}
UPDATE ${sql.name} AS i
SET ${assigned(leased(sql))}
WHERE i.${sql.id} IN (
  SELECT ready.id FROM (
    SELECT ${placed(sql)}
    FROM heads CROSS JOIN ${sql.name} AS i ON i.${sql.id} = heads.id
    WHERE ${all(sql.due(), sql.free(), `NOT EXISTS (${others(sql)})`)}
  ) AS ready
  ORDER BY ${place(sql, "ready")}
  LIMIT ${sql.param("limit")}
)
RETURNING ${claimedColumns(sql, settings)}`);
  return { ...inOrder(sql, claim), before: [clearStale(stale, settings)] };
}

/** Leases that have run out, of rows behind the first one of a group whose first row can be claimed. */
function clearStale(sql: TableSql, settings: ClaimSettings): Statement {
  const lease = sql.of("lockedUntil", "o");
  return sql.statement(`WITH RECURSIVE ${heads(sql, settings)}
UPDATE ${sql.name} AS i
SET ${assigned(unleased(sql))}
WHERE i.${sql.id} IN (
  SELECT o.${sql.id}
  FROM heads
  CROSS JOIN ${sql.name} AS i ON i.${sql.id} = heads.id
  CROSS JOIN ${sql.name} AS o ON ${all(behind(sql))}
  WHERE ${all(sql.due(), sql.free(), `${lease} <= ${sql.now}`)}
)`);
}

/** Rows of the group that are not its first, and have a lease. */
function others(sql: TableSql): string {
  return `SELECT 1 FROM ${sql.name} AS o WHERE ${all(behind(sql))}`;
}

function behind(sql: TableSql): string[] {
  const { lockedUntil } = sql.table.roles;
  const lease = sql.of("lockedUntil", "o");
  return [
    `${sql.of("group", "o")} = heads.value`,
    lockedUntil?.nullable === false ? `${lease} > ${never}` : `${lease} IS NOT NULL`,
    ...sql.open("o"),
    `o.${sql.id} <> heads.id`,
  ];
}

/** `heads`: each group (`value`) with the id of its first row. All groups at once are a walk from one to the next. */
function heads(sql: TableSql, settings: ClaimSettings): string {
  const { group: column } = sql.table.roles;
  if (column === undefined) throw new TypeError("a fifo table has a group column");
  const head = firstRow(sql, [`${sql.of("group", "h")} = seen.value`, ...sql.open("h")], "h");
  const named = (seen: string) => `heads AS (
  SELECT seen.value, ${head} AS id
  FROM ${seen} AS seen
)`;
  if (settings.groups === "one") return named(`(SELECT ${sql.groupValue(column)} AS value)`);
  const { groups, parts } = groupWalk(sql);
  return `${parts}, ${named(`(
    ${groups}
  )`)}`;
}
