/** The groups that a claim of every group looks at. */
import type { ClaimSettings, WalkStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { withParts } from "./table-claim.ts";
import { all, cast, type TableSql } from "./table-names.ts";

/** How many groups one claim looks at, where it reads every group. */
export const groupsLookedAt = 500;

/**
 * The open groups in their order, one probe of the index each: those behind the group that the parameter `after`
 * names, and then those up to it. Where it is null they are all behind it. `groups` answers each as `value`, and
 * walks no further than it is read.
 */
export function groupWalk(sql: TableSql): {
  readonly parts: readonly string[];
  readonly groups: string;
} {
  const group = sql.of("group");
  const column = sql.table.roles.group;
  if (group === undefined || column === undefined)
    throw new TypeError("a fifo table has a group column");
  // Not cast to text where the column is of any: the order is its own type's, such as citext.
  const given = sql.param("after");
  const after = column.type === "text" ? given : cast(`${given}::text`, column);
  const next = (...conditions: readonly string[]) => `SELECT ${group} AS value
    FROM ${sql.name} AS i
    WHERE ${all(sql.open(), conditions)}
    ORDER BY ${group}
    LIMIT 1`;
  const walk = (name: string, first: string, ...until: readonly string[]) => `${name} AS (
  ${first}
  UNION ALL
  SELECT next.value
  FROM ${name} CROSS JOIN LATERAL (
    ${next(`${group} > ${name}.value`, ...until)}
  ) AS next
)`;
  const start = (conditions: readonly string[]) => `SELECT start.value FROM (
    ${next(...conditions)}
  ) AS start`;
  const behind = start([`${group} > ${after}`]);
  const first = start([`${group} IS NOT NULL`, `${after} IS NULL`]);
  const upTo = `${group} <= ${after}`;
  return {
    parts: [walk("walk", `(${behind} UNION ALL ${first})`), walk("wrapped", start([upTo]), upTo)],
    groups: "SELECT walk.value FROM walk UNION ALL SELECT wrapped.value FROM wrapped",
  };
}

/** What a form runs beside a claim of every group. */
export function walkStatements(sql: TableSql, { groups }: ClaimSettings): WalkStatements {
  return sql.table.fifo === "none" || groups !== "every" ? {} : { walkedTo: walkedTo(sql) };
}

function walkedTo(sql: TableSql): Statement {
  const { groups, parts } = groupWalk(sql);
  return sql.statement(`${withParts(parts)}
SELECT seen.value::text AS "group"
FROM (${groups}) AS seen
LIMIT 1 OFFSET ${groupsLookedAt - 1}`);
}
