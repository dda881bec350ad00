/** The groups that a claim of every group looks at. */
import type { ClaimSettings, WalkStatements } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { all, type TableSql } from "./table-names.ts";

/** How many groups one claim looks at, where it reads every group. */
const groupsLookedAt = 500;

/**
 * The open groups in their order, one probe of the index each: those behind the group that the parameter `after`
 * names, and then those up to it, as many as a claim looks at. Where it is null they are all behind it. In two
 * parts: what stands in WITH RECURSIVE, and a query that answers each as `value`.
 */
export function groupWalk(sql: TableSql): { readonly parts: string; readonly groups: string } {
  const { group: column } = sql.table.roles;
  const group = sql.of("group", "g");
  if (column === undefined || group === undefined) {
    throw new TypeError("a fifo table has a group column");
  }
  const next = (...conditions: readonly string[]) => `(SELECT ${group}
    FROM ${sql.name} AS g
    WHERE ${all(sql.open("g"), conditions)}
    ORDER BY ${group}
    LIMIT 1)`;
  const walk = (name: string, first: string, ...until: readonly string[]) => `${name} AS (
  SELECT ${first} AS value
  UNION ALL
  SELECT ${next(`${group} > ${name}.value`, ...until)}
  FROM ${name}
  WHERE ${name}.value IS NOT NULL
  LIMIT ${groupsLookedAt}
)`;
  const after = () => sql.groupValue(column, "after");
  const first = `iif(${after()} IS NULL, ${next(`${group} IS NOT NULL`)}, ${next(`${group} > ${after()}`)})`;
  // Of the column, whose collation decides: what comes out of a walk has none.
  const upTo = `${group} <= ${after()}`;
  return {
    parts: `${walk("walk", first)}, ${walk("wrapped", next(upTo), upTo)}`,
    groups: `SELECT walk.value FROM walk WHERE walk.value IS NOT NULL
    UNION ALL
    SELECT wrapped.value FROM wrapped WHERE wrapped.value IS NOT NULL
    LIMIT ${groupsLookedAt}`,
  };
}

/** What the form runs beside a claim of every group. */
export function walkStatements(sql: TableSql, { groups }: ClaimSettings): WalkStatements {
  return sql.table.fifo === "none" || groups !== "every" ? {} : { walkedTo: walkedTo(sql) };
}

function walkedTo(sql: TableSql): Statement {
  const { groups, parts } = groupWalk(sql);
  return sql.statement(`WITH RECURSIVE ${parts}
SELECT CAST(seen.value AS TEXT) AS "group"
FROM (
    ${groups}
  ) AS seen
LIMIT 1 OFFSET ${groupsLookedAt - 1}`);
}
