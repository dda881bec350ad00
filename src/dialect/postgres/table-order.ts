/**
 * Rows in claim order, drawn one by one: what stands above takes no more of them than it needs.
 *
 * The order is priority (null last), due (null first), id. No single index range holds the rows that
 * are due: those due later lie between one priority and the next, and "null or past" is two ranges. So
 * a walk goes from priority to priority, and reads two ranges of each; rows due later cost nothing, and
 * an index without any NULLS FIRST serves.
 *
 * A range is read in chunks, whose size is a literal. It tells the planner, which does not see through
 * LIMIT $1, that few rows are wanted, so that it walks the index and does not sort the queue. The size is
 * small, and what else is asked of a row is asked outside, because of tables without statistics: of
 * 100,000 rows the planner expects some dozens there, and reads them all to sort them where the limit
 * is not far below (with a limit of 1,000 a claim of ten read 1,028 pages in 20 ms; with chunks
 * of 20 it read 477 before 30,000 rows). And chunks have no end: rows that others have locked never hide
 * those behind them.
 */
import { all, type TableSql } from "./table-names.ts";

/** How many rows of a range are read at a time. */
const chunkRows = 2;

export interface Ordered {
  /** Conditions on the row called `i`. */
  readonly conditions: readonly string[];
  /** What each row carries beside its place. */
  readonly extra?: readonly string[];
  /** Conditions on the row called `chunk`: those that no index answers. */
  readonly filter?: readonly string[];
}

/** A query that stands in FROM, and what it needs in WITH RECURSIVE. */
export interface OrderedRows {
  readonly with: readonly string[];
  readonly rows: string;
}

/** The rows that are due, in order. `level` is the name of the walk over priorities. */
export function dueRows(sql: TableSql, ordered: Ordered, level = "level"): OrderedRows {
  const priority = sql.of("priority");
  const due = dueColumn(sql);
  const within = (...more: readonly string[]) => {
    const range = (key: readonly string[], ...condition: readonly string[]) =>
      chunked(sql, ordered, key, [...more, ...condition]);
    if (due === undefined) return range(["id"]);
    return `${range(["id"], `${due} IS NULL`)}
    UNION ALL
    ${range(["due", "id"], `${due} <= ${sql.now}`)}`;
  };
  if (priority === undefined) return { with: [], rows: within() };
  const next = (condition: string) => `SELECT ${priority} AS value
    FROM ${sql.name} AS i
    WHERE ${all(ordered.conditions, condition)}
    ORDER BY ${priority}
    LIMIT 1`;
  return {
    with: [
      `${level} AS (
  SELECT first.value
  FROM (
    ${next(`${priority} IS NOT NULL`)}
  ) AS first
  UNION ALL
  SELECT next.value
  FROM ${level} CROSS JOIN LATERAL (
    ${next(`${priority} > ${level}.value`)}
  ) AS next
)`,
    ],
    rows: `SELECT each.* FROM ${level} CROSS JOIN LATERAL (
    ${within(`${priority} = ${level}.value`)}
    ) AS each
    UNION ALL
    ${within(`${priority} IS NULL`)}`,
  };
}

/** The first row of all, due or not. */
export function firstRow(sql: TableSql, ordered: Ordered): string {
  const priority = sql.of("priority");
  const due = dueColumn(sql);
  const first = (rows: string) => `SELECT * FROM (
    ${rows}
    ) AS first
    LIMIT 1`;
  const within = (...more: readonly string[]) => {
    const range = (...condition: readonly string[]) =>
      `(${select(sql, ordered, [...more, ...condition], 1)})`;
    if (due === undefined) return range();
    return `${range(`${due} IS NULL`)}
    UNION ALL
    ${range(`${due} IS NOT NULL`)}`;
  };
  if (priority === undefined) return first(within());
  return first(`SELECT each.* FROM (
      SELECT ${priority} AS value
      FROM ${sql.name} AS i
      WHERE ${all(ordered.conditions, `${priority} IS NOT NULL`)}
      ORDER BY ${priority}
      LIMIT 1
    ) AS level CROSS JOIN LATERAL (
    ${within(`${priority} = level.value`)}
    ) AS each
    UNION ALL
    ${within(`${priority} IS NULL`)}`);
}

/** A range in chunks; `key`: what orders its rows, as the place's columns are called. */
function chunked(
  sql: TableSql,
  ordered: Ordered,
  key: readonly string[],
  conditions: readonly string[],
): string {
  const columns = key.map((name) => (name === "id" ? `i.${sql.id}` : sql.of("retryAfter")));
  const behind = `(${columns.join(", ")}) > (${key.map((name) => `chunk.${name}`).join(", ")})`;
  const numbered = (...more: readonly string[]) => `SELECT rows.*, row_number() OVER () AS number
      FROM (
        ${select(sql, ordered, [...conditions, ...more], chunkRows)}
      ) AS rows`;
  return `(WITH RECURSIVE chunk AS (
      ${numbered()}
      UNION ALL
      SELECT next.* FROM chunk CROSS JOIN LATERAL (
      ${numbered(behind)}
      ) AS next
      WHERE chunk.number = ${chunkRows}
    ) SELECT * FROM chunk WHERE ${all(ordered.filter ?? [])})`;
}

function select(
  sql: TableSql,
  { conditions, extra = [] }: Ordered,
  more: readonly string[],
  limit: number,
): string {
  const order = [sql.of("priority"), dueColumn(sql), `i.${sql.id}`].filter(Boolean).join(", ");
  return `SELECT ${[sql.placed(), ...extra].join(", ")}
    FROM ${sql.name} AS i
    WHERE ${all(conditions, more)}
    ORDER BY ${order}
    LIMIT ${limit}`;
}

/** The due column, where rows are ordered by it. */
function dueColumn(sql: TableSql): string | undefined {
  return sql.ordersByDue ? sql.of("retryAfter") : undefined;
}
