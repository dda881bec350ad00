/** The first rows of fifo groups: only they can be claimed. */
import type { ClaimSettings } from "../dialect.ts";
import { all, type TableSql } from "./table-names.ts";
import { firstRow, place, placed, placeText } from "./table-order.ts";
import { groupsLookedAt, groupWalk } from "./table-walk.ts";

/**
 * `ready`, as it stands in FROM: the heads that are due and not held, in claim order: `id`, `turn`, `place` (see
 * {@link placeText}), and their group as `value`, in their own letters: of what a collation takes for one group the walk
 * finds any.
 *
 * The LIMIT of `heads` keeps MariaDB from merging it into what is around it: it would no longer find `seen` when the
 * prepared statement is executed again.
 */
export function readyHeads(sql: TableSql, settings: ClaimSettings): string {
  const { group: column } = sql.table.roles;
  if (column === undefined) throw new TypeError("a fifo table has a group column");
  const ready = (heads: string) => `(
  SELECT due_head.id, due_head.value, due_head.place, ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_head")}) AS turn
  FROM (
    SELECT ${placed(sql)}, ${sql.of("group")} AS value, ${placeText(sql)} AS place
    FROM ${heads} STRAIGHT_JOIN ${sql.byId} ON i.${sql.id} = heads.id
    WHERE ${all(sql.due(), sql.free())}
  ) AS due_head
  ORDER BY turn
  LIMIT ${groupsLookedAt}
) AS ready`;
  if (settings.groups === "one") {
    const head = firstRow(sql, [...sql.inGroup("h"), ...sql.open("h")], "h");
    return ready(`(SELECT ${sql.groupValue(column)} AS value, ${head} AS id) AS heads`);
  }
  const head = firstRow(sql, [`${sql.of("group", "h")} = seen.value`, ...sql.open("h")], "h");
  return ready(`(
    SELECT seen.value, ${head} AS id
    FROM (
      ${groupWalk(sql)}
    ) AS seen
    LIMIT ${groupsLookedAt}
  ) AS heads`);
}
