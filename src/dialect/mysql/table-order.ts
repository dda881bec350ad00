/**
 * Rows in claim order: priority (null last), due (null first), id.
 *
 * One index serves, read from its start: group, processed, priority, due, id, where NULL comes first. What the
 * order wants otherwise (priorities that are null come last), or what an index cannot say at once ("null or
 * past"), are ranges of their own, each with the limit, of which the first rows are taken together. Rows due
 * later cost nothing where no priority stands between; with one, their index entries are read and passed over.
 */
import { all, type TableSql } from "./table-names.ts";

export interface Ordered {
  /** Conditions on the row called `i`. */
  readonly conditions: readonly string[];
  /** What each row carries beside its place. */
  readonly extra?: readonly string[];
}

/** The first `limit` rows that are due: `priority`, `due` and `id`, as far as the table orders by them. */
export function dueRows(sql: TableSql, ordered: Ordered, limit: number): string {
  const priority = sql.of("priority");
  const due = sql.of("retryAfter");
  const isPast = due === undefined ? undefined : `${due} <= ${sql.now}`;
  const within = (...more: readonly string[]): string[] => {
    if (due === undefined || isPast === undefined) return [range(sql, ordered, more, limit)];
    if (!sql.ordersByDue) return [range(sql, ordered, [...more, ...sql.due()], limit)];
    return [
      range(sql, ordered, [...more, `${due} IS NULL`], limit),
      range(sql, ordered, [...more, isPast], limit),
    ];
  };
  const ranges =
    priority === undefined
      ? within()
      : [
          range(sql, ordered, [`${priority} IS NOT NULL`, ...sql.due()], limit),
          ...within(`${priority} IS NULL`),
        ];
  const [only] = ranges;
  if (only !== undefined && ranges.length === 1) return only;
  return `SELECT each_row.* FROM (
    ${ranges.map((each) => `(${each})`).join("\n    UNION ALL\n    ")}
    ) AS each_row
    ORDER BY ${place(sql, "each_row")}
    LIMIT ${limit}`;
}

/** The id of the first row of all, due or not. */
export function firstRow(sql: TableSql, conditions: readonly string[], alias: string): string {
  const priority = sql.of("priority", alias);
  const due = sql.ordersByDue ? sql.of("retryAfter", alias) : undefined;
  const first = (...more: readonly string[]) => `(SELECT ${alias}.${sql.id}
      FROM ${sql.name} AS ${alias}
      WHERE ${all(conditions, more)}
      ORDER BY ${[priority, due, `${alias}.${sql.id}`].filter(Boolean).join(", ")}
      LIMIT 1)`;
  if (priority === undefined) return first();
  return `COALESCE(${first(`${priority} IS NOT NULL`)}, ${first(`${priority} IS NULL`)})`;
}

/** ORDER BY of rows whose place is selected as {@link placed}. */
export function place(sql: TableSql, alias: string): string {
  const parts = [`${alias}.id`];
  if (sql.ordersByDue) parts.unshift(`${alias}.due`);
  if (sql.table.roles.priority !== undefined) {
    parts.unshift(`${alias}.priority IS NULL`, `${alias}.priority`);
  }
  return parts.join(", ");
}

/** A row's place in the order, as columns to select. */
export function placed(sql: TableSql, alias = "i"): string {
  const parts = [`${alias}.${sql.id} AS id`];
  if (sql.ordersByDue) parts.unshift(`${sql.of("retryAfter", alias)} AS due`);
  const priority = sql.of("priority", alias);
  if (priority !== undefined) parts.unshift(`${priority} AS priority`);
  return parts.join(", ");
}

/**
 * Where the row called `i` stands among those of its group, its id aside, as text: a head that is locked is compared
 * with where it was found. One that was moved in between, by a retry for a later time or by the service, may be due
 * already, and others of its group stand before it now.
 */
export function placeText(sql: TableSql): string {
  const due = sql.ordersByDue ? sql.of("retryAfter") : undefined;
  const parts = [sql.of("priority"), due]
    .filter((column) => column !== undefined)
    .map((column) => `COALESCE(CAST(${column} AS CHAR), '')`);
  if (parts.length === 0) return "''";
  return parts.length === 1 ? parts.join() : `CONCAT(${parts.join(", '/', ")})`;
}

function range(
  sql: TableSql,
  { conditions, extra = [] }: Ordered,
  more: readonly string[],
  limit: number,
): string {
  const due = sql.ordersByDue ? sql.of("retryAfter") : undefined;
  return `SELECT ${[placed(sql), ...extra].join(", ")}
    FROM ${sql.name} AS i
    WHERE ${all(conditions, more)}
    ORDER BY ${[sql.of("priority"), due, `i.${sql.id}`].filter(Boolean).join(", ")}
    LIMIT ${limit}`;
}
