/** The first rows of fifo groups: only they can be claimed. */
import type { ColumnDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { literal } from "./sql.ts";
import { ofGroup } from "./table-claim.ts";
import { all, cast, type TableSql } from "./table-names.ts";
import { firstRow } from "./table-order.ts";

/** How many groups one claim looks at, where it reads every group. */
export const groupsLookedAt = 500;

/**
 * The head of each group, in claim order: its place, `group_key` (text), and `ready`, whether the head
 * can be claimed. Rows behind a head that is in work or not due yet wait.
 *
 * All groups at once are a walk from group to group, one probe each, and the heads are sorted by their
 * place, so that no group is served before an older row of another. A walk that does not see every group
 * starts at the group of a row chosen at random, so that each has its turn.
 */
export function groupHeads(
  sql: TableSql,
  settings: ClaimSettings,
): { readonly parts: readonly string[]; readonly heads: string } {
  const group = sql.of("group");
  const column = sql.table.roles.group;
  if (group === undefined || column === undefined)
    throw new TypeError("a fifo table has a group column");
  const extra = [`${group}::text AS group_key`, `(${all(sql.due(), sql.free())}) AS ready`];
  if (settings.groups === "one") {
    const conditions = [...ofGroup(sql, settings), ...sql.open()];
    return { parts: [], heads: firstRow(sql, { conditions, extra }) };
  }
  const next = (...conditions: readonly string[]) => `SELECT ${group} AS value
    FROM ${sql.name} AS i
    WHERE ${all(sql.open(), conditions)}
    ORDER BY ${group}
    LIMIT 1`;
  const walk = (name: string, from: string, until: string) => `${name} AS (
  SELECT first.value
  FROM start CROSS JOIN LATERAL (
    ${next(...(from === "" ? [`${group} IS NOT NULL`] : [from]), ...(until === "" ? [] : [until]))}
  ) AS first
  UNION ALL
  SELECT next.value
  FROM ${name} CROSS JOIN start CROSS JOIN LATERAL (
    ${next(`${group} > ${name}.value`, ...(until === "" ? [] : [until]))}
  ) AS next
)`;
  const parts = [
    `start AS (
  ${randomRow(sql, group)}
)`,
    walk("walk", `${group} >= coalesce(start.value, ${lowest(column)})`, ""),
    walk("wrapped", "", `${group} < start.value`),
    `heads AS (
  SELECT head.*
  FROM (
    SELECT seen.value
    FROM (SELECT walk.value FROM walk UNION ALL SELECT wrapped.value FROM wrapped) AS seen
    LIMIT ${groupsLookedAt}
  ) AS visited
  CROSS JOIN LATERAL (
    ${firstRow(sql, { conditions: [`${group} = visited.value`, ...sql.open()], extra })}
  ) AS head
)`,
  ];
  // OFFSET keeps the caller's conditions above the sort: they lock what they look at.
  return { parts, heads: `SELECT * FROM heads ORDER BY ${sql.place("heads")} OFFSET 0` };
}

/** The group of some row; null where there is none. */
function randomRow(sql: TableSql, group: string): string {
  const isText = sql.table.roles.group?.type === "text";
  return `SELECT (
    SELECT ${group}${isText ? "::text" : ""}
    FROM ${sql.name} AS i${someRow(sql)}
    LIMIT 1
  ) AS value`;
}

/** No group comes before it. */
function lowest(column: ColumnDescription): string {
  return column.type === "text" ? "''" : cast(`'${LOWEST.get(column.type) ?? ""}'`, column);
}

const LOWEST: ReadonlyMap<string, string> = new Map([
  ["smallint", "-32768"],
  ["integer", "-2147483648"],
  ["bigint", "-9223372036854775808"],
  ["uuid", "00000000-0000-0000-0000-000000000000"],
]);

/** A row near an id chosen at random; where ids are no numbers, of a page. */
function someRow(sql: TableSql): string {
  const { id } = sql.table.roles;
  const from = (pivot: string) => `
    WHERE i.${sql.id} >= (${pivot})
    ORDER BY i.${sql.id}`;
  switch (id?.type) {
    case "smallint":
    case "integer":
    case "bigint":
      // In numeric: a double would round the largest ids up, out of their range.
      return from(
        `SELECT (min(e.${sql.id}) + floor(random()::numeric * (max(e.${sql.id})::numeric - min(e.${sql.id}) + 1)))::bigint FROM ${sql.name} AS e`,
      );
    case "uuid":
      return from("SELECT md5(random()::text)::uuid");
    default:
      // One page is to be expected; of none the walk starts at the first group.
      return ` TABLESAMPLE SYSTEM (100.0 / greatest(1, pg_relation_size(to_regclass(${literal(sql.name)})) / current_setting('block_size')::int))`;
  }
}
