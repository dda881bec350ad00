/**
 * Rows in claim order, drawn one by one: what stands above takes no more of them than it needs.
 *
 * The order is priority (null last), due (null first), id. No single index range holds the rows that
 * are due: those due later lie between one priority and the next, and "null or past" is two ranges. So
 * a walk goes from priority to priority, and reads two ranges of each; rows due later cost nothing, and
 * an index without any NULLS FIRST serves.
 *
 * Each range has a limit that is a literal. The executor stops long before it; it tells the planner,
 * which does not see through LIMIT $1, that few rows are wanted, so that it walks the index and does
 * not sort the queue.
 */
import { all, type TableSql } from "./table-names.ts";

/** How many rows one range gives a claim. More are in the way only if as many are locked by others. */
export const rangeRows = 1_000;

export interface Ordered {
  /** Conditions on the row called `i`. */
  readonly conditions: readonly string[];
  /** What each row carries beside its place. */
  readonly extra?: readonly string[];
}

/** A query that stands in FROM, and what it needs in WITH RECURSIVE. */
export interface OrderedRows {
  readonly with: readonly string[];
  readonly rows: string;
}

/** The rows that are due, in order. */
export function dueRows(sql: TableSql, ordered: Ordered): OrderedRows {
  const priority = sql.of("priority");
  const range = (...more: readonly string[]) => ranges(sql, ordered, "due", rangeRows, more);
  if (priority === undefined) return { with: [], rows: range() };
  const level = (condition: string) => `SELECT ${priority} AS value
    FROM ${sql.name} AS i
    WHERE ${all(ordered.conditions, condition)}
    ORDER BY ${priority}
    LIMIT 1`;
  return {
    with: [
      `level AS (
  SELECT first.value
  FROM (
    ${level(`${priority} IS NOT NULL`)}
  ) AS first
  UNION ALL
  SELECT next.value
  FROM level CROSS JOIN LATERAL (
    ${level(`${priority} > level.value`)}
  ) AS next
)`,
    ],
    rows: `SELECT each.* FROM level CROSS JOIN LATERAL (
    ${range(`${priority} = level.value`)}
    ) AS each
    UNION ALL
    ${range(`${priority} IS NULL`)}`,
  };
}

/** The first row of all, due or not. */
export function firstRow(sql: TableSql, ordered: Ordered): string {
  const priority = sql.of("priority");
  const first = (rows: string) => `SELECT * FROM (
    ${rows}
    ) AS first
    LIMIT 1`;
  const range = (...more: readonly string[]) => ranges(sql, ordered, "all", 1, more);
  if (priority === undefined) return first(range());
  return first(`SELECT each.* FROM (
      SELECT ${priority} AS value
      FROM ${sql.name} AS i
      WHERE ${all(ordered.conditions, `${priority} IS NOT NULL`)}
      ORDER BY ${priority}
      LIMIT 1
    ) AS level CROSS JOIN LATERAL (
    ${range(`${priority} = level.value`)}
    ) AS each
    UNION ALL
    ${range(`${priority} IS NULL`)}`);
}

/** The ranges within one priority, one behind the other. */
function ranges(
  sql: TableSql,
  { conditions, extra = [] }: Ordered,
  which: "due" | "all",
  limit: number,
  more: readonly string[],
): string {
  const priority = sql.of("priority");
  const due = sql.ordersByDue ? sql.of("retryAfter") : undefined;
  const order = [priority, due, `i.${sql.id}`].filter((part) => part !== undefined).join(", ");
  const range = (...condition: readonly string[]) => `(SELECT ${[sql.placed(), ...extra].join(", ")}
    FROM ${sql.name} AS i
    WHERE ${all(conditions, more, condition)}
    ORDER BY ${order}
    LIMIT ${limit})`;
  if (due === undefined) return range();
  const later = which === "due" ? `${due} <= ${sql.now}` : `${due} IS NOT NULL`;
  return `${range(`${due} IS NULL`)}
    UNION ALL
    ${range(later)}`;
}
