/** The first rows of fifo groups: only they can be claimed. */
import type { ClaimSettings } from "../dialect.ts";
import { all, isTextual, type TableSql } from "./table-names.ts";
import { firstRow, place, placed } from "./table-order.ts";
import { WHOLE_64 } from "./types.ts";

/** How many groups one claim looks at, where it reads every group. */
export const groupsLookedAt = 500;

/**
 * `ready`: the heads that are due and not held, in claim order: `id`, `turn`, and their group as `value`, in their own
 * letters: of what a collation takes for one group the walk finds any.
 * In two parts: what goes before the SELECT, and what stands in FROM.
 *
 * All groups at once are a walk from group to group, one probe each, which starts at the group of a row near
 * an id chosen at random, so that each has its turn where there are more than one claim looks at. The LIMIT of
 * `heads` keeps MariaDB from merging it into what is around it: it would no longer find `seen` when the prepared
 * statement is executed again.
 */
export function readyHeads(
  sql: TableSql,
  settings: ClaimSettings,
): { readonly parts: string; readonly from: string } {
  const { group: column } = sql.table.roles;
  const group = sql.of("group", "g");
  if (column === undefined || group === undefined) {
    throw new TypeError("a fifo table has a group column");
  }
  const ready = (heads: string) => `(
  SELECT due_head.id, due_head.value, ROW_NUMBER() OVER (ORDER BY ${place(sql, "due_head")}) AS turn
  FROM (
    SELECT ${placed(sql)}, ${sql.of("group")} AS value
    FROM ${heads} STRAIGHT_JOIN ${sql.byId} ON i.${sql.id} = heads.id
    WHERE ${all(sql.due(), sql.free())}
  ) AS due_head
  ORDER BY turn
  LIMIT ${groupsLookedAt}
) AS ready`;
  if (settings.groups === "one") {
    const head = firstRow(sql, [...sql.inGroup("h"), ...sql.open("h")], "h");
    return {
      parts: "",
      from: ready(`(SELECT ${sql.groupValue(column)} AS value, ${head} AS id) AS heads`),
    };
  }
  const next = (...conditions: readonly string[]) => `(SELECT ${group}
    FROM ${sql.name} AS g
    WHERE ${all(sql.open("g"), conditions)}
    ORDER BY ${group}
    LIMIT 1)`;
  const walk = (name: string, first: string, last: readonly string[]) => `${name} AS (
  SELECT 1 AS n, ${first} AS value
  UNION ALL
  SELECT ${name}.n + 1, ${next(`${group} > ${name}.value`, ...last)}
  FROM ${name}
  WHERE ${name}.value IS NOT NULL AND ${name}.n < ${groupsLookedAt}
)`;
  const isBefore = [`${group} < (SELECT start.value FROM start)`];
  const head = firstRow(sql, [`${sql.of("group", "h")} = seen.value`, ...sql.open("h")], "h");
  const parts = [
    `start AS (
  SELECT ${someGroup(sql)} AS value
)`,
    walk("walk", "(SELECT start.value FROM start)", []),
    walk("wrapped", next(`${group} IS NOT NULL`, ...isBefore), isBefore),
  ];
  return {
    parts: `WITH RECURSIVE ${parts.join(", ")}\n`,
    from: ready(`(
    SELECT seen.value, ${head} AS id
    FROM (
      (SELECT walk.value FROM walk WHERE walk.value IS NOT NULL)
      UNION ALL
      (SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL)
      LIMIT ${groupsLookedAt}
    ) AS seen
    LIMIT ${groupsLookedAt}
  ) AS heads`),
  };
}

/**
 * The group of an open row whose id is the first behind one chosen at random; else of any. The chance is a
 * parameter: MariaDB evaluates a WITH query wherever it is named, and RAND() would say another group each time.
 */
function someGroup(sql: TableSql): string {
  const { id } = sql.table.roles;
  const group = sql.of("group", "g");
  const some = (...conditions: readonly string[]) => `(SELECT ${group}
    FROM ${sql.name} AS g
    WHERE ${all(sql.open("g"), `${group} IS NOT NULL`, conditions)}
    ORDER BY g.${sql.id}
    LIMIT 1)`;
  if (id === undefined || isTextual(id))
    return `COALESCE(${some(`g.${sql.id} >= ${sql.param("randomText")}`)}, ${some()})`;
  // The difference of two 64-bit numbers may have 65.
  const [least, most] = ["MIN", "MAX"].map((of) =>
    id.type === "decimal" ? `${of}(m.${sql.id})` : `CAST(${of}(m.${sql.id}) AS ${WHOLE_64})`,
  );
  const pivot = `(SELECT ${least} + FLOOR(CAST(${sql.param("random")} AS DECIMAL(20, 19)) * (${most} - ${least} + 1)) FROM ${sql.name} AS m)`;
  return `COALESCE(${some(`g.${sql.id} >= ${pivot}`)}, ${some()})`;
}
