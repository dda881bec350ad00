/** The first rows of fifo groups: only they can be claimed. */
import type { ClaimSettings } from "../dialect.ts";
import { ofGroup } from "./table-claim.ts";
import { all, type TableSql } from "./table-names.ts";
import { firstRow } from "./table-order.ts";
import { groupsLookedAt, groupWalk } from "./table-walk.ts";

/**
 * The head of each group, in claim order: its place, `group_key` (text), and `ready`, whether the head
 * can be claimed. Rows behind a head that is in work or not due yet wait.
 *
 * All groups at once are a walk from group to group, one probe each, and the heads are sorted by their
 * place, so that of those that it sees no group is served before an older row of another.
 */
export function groupHeads(
  sql: TableSql,
  settings: ClaimSettings,
): { readonly parts: readonly string[]; readonly heads: string } {
  const group = sql.of("group");
  if (group === undefined) throw new TypeError("a fifo table has a group column");
  const extra = [`${group}::text AS group_key`, `(${all(sql.due(), sql.free())}) AS ready`];
  if (settings.groups === "one") {
    const conditions = [...ofGroup(sql, settings), ...sql.open()];
    return { parts: [], heads: firstRow(sql, { conditions, extra }) };
  }
  const { groups, parts } = groupWalk(sql);
  const headsOf = `heads AS (
  SELECT head.*
  FROM (
    SELECT seen.value
    FROM (${groups}) AS seen
    LIMIT ${groupsLookedAt}
  ) AS visited
  CROSS JOIN LATERAL (
    ${firstRow(sql, { conditions: [`${group} = visited.value`, ...sql.open()], extra })}
  ) AS head
)`;
  // OFFSET keeps the caller's conditions above the sort: they lock what they look at.
  return {
    parts: [...parts, headsOf],
    heads: `SELECT * FROM heads ORDER BY ${sql.place("heads")} OFFSET 0`,
  };
}

/**
 * That the row `i`, which is locked, has the place that it had as the row `head` of {@link groupHeads}. One that was moved in between, by a
 * retry for a later time or by the service, may be due already, and others of its group stand before it now.
 * In words that no index answers, as in {@link stillOfGroup}.
 */
export function inPlace(sql: TableSql, head: string): string[] {
  const priority = sql.of("priority");
  return [
    `${sql.of("group")}::text IS NOT DISTINCT FROM ${head}.group_key`,
    ...(priority === undefined ? [] : [`${priority} IS NOT DISTINCT FROM ${head}.priority`]),
    ...(sql.ordersByDue ? [`${sql.of("retryAfter")} IS NOT DISTINCT FROM ${head}.due`] : []),
  ];
}
