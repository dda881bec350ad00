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

/** How many groups one claim looks at, where it reads every group. */
const groupsLookedAt = 500;

/**
 * `heads`: each group (`value`) with the id of its first row. All groups at once are a walk from group to
 * group, one probe each, which starts at the group of a row near an id chosen at random, so that each has its
 * turn where there are more than one claim looks at.
 */
function heads(sql: TableSql, settings: ClaimSettings): string {
  const { group: column } = sql.table.roles;
  const group = sql.of("group", "g");
  if (column === undefined || group === undefined) {
    throw new TypeError("a fifo table has a group column");
  }
  const head = firstRow(sql, [`${sql.of("group", "h")} = seen.value`, ...sql.open("h")], "h");
  const named = (seen: string) => `heads AS (
  SELECT seen.value, ${head} AS id
  FROM ${seen} AS seen
)`;
  if (settings.groups === "one") return named(`(SELECT ${sql.groupValue(column)} AS value)`);
  const next = (...conditions: readonly string[]) => `(SELECT ${group}
    FROM ${sql.name} AS g
    WHERE ${all(sql.open("g"), conditions)}
    ORDER BY ${group}
    LIMIT 1)`;
  const walk = (name: string, first: string, last: readonly string[]) => `${name} AS (
  SELECT ${first} AS value
  UNION ALL
  SELECT ${next(`${group} > ${name}.value`, ...last)}
  FROM ${name}
  WHERE ${name}.value IS NOT NULL
  LIMIT ${groupsLookedAt}
)`;
  const isBefore = [`${group} < (SELECT start.value FROM start)`];
  return [
    `start AS (
  SELECT ${someGroup(sql)} AS value
)`,
    walk("walk", "(SELECT start.value FROM start)", []),
    walk("wrapped", next(`${group} IS NOT NULL`, ...isBefore), isBefore),
    named(`(
    SELECT walk.value FROM walk WHERE walk.value IS NOT NULL
    UNION ALL
    SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL
    LIMIT ${groupsLookedAt}
  )`),
  ].join(", ");
}

/** The group of an open row whose id is the first behind one chosen at random; else of any. */
function someGroup(sql: TableSql): string {
  const group = sql.of("group", "g");
  const pivot = `(SELECT ${chance(sql)})`;
  const some = (...conditions: readonly string[]) => `(SELECT ${group}
    FROM ${sql.name} AS g
    WHERE ${all(sql.open("g"), `${group} IS NOT NULL`, conditions)}
    ORDER BY g.${sql.id}
    LIMIT 1)`;
  return `coalesce(${some(`g.${sql.id} >= ${pivot}`)}, ${some()})`;
}

/** An id by chance, in the order that ids of the type stand in: decimals are texts, and "999" is the last of 3,000. */
function chance(sql: TableSql): string {
  const type = sql.table.roles.id?.type;
  if (type === "text" || type === "uuid") return "lower(hex(randomblob(16)))";
  if (type === "decimal") return "substr(abs(random() % 1000000000) + 1000000000, 2)";
  return `abs(random() % (max(m.${sql.id}) - min(m.${sql.id}) + 1)) + min(m.${sql.id}) FROM ${sql.name} AS m`;
}
