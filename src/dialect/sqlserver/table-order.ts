/**
 * Rows in claim order: priority (null last), due (null first), id.
 *
 * One index serves, read from its start: group, priority, due, id, where NULL comes first. What the order wants
 * otherwise (priorities that are null come last), or what an index cannot say at once ("null or past"), are
 * ranges of their own, each with the limit, of which the first rows are taken together. Rows due later cost
 * nothing where no priority stands between; with one, their index entries are read and passed over.
 */
import { all, type TableSql } from "./table-names.ts";
import { utc } from "./types.ts";

/**
 * How rows are looked at that are not taken yet.
 *
 * - READPAST: rows that others are changing are passed over, and never waited for. Rows that others have only
 *   claimed (update locks) are read: taking them is what fails then.
 * - ROWLOCK: no lock of a page is asked for, which would pass over all of its rows because of one.
 * - READCOMMITTEDLOCK: with READ_COMMITTED_SNAPSHOT on, READ COMMITTED reads row versions, and READPAST is refused
 *   there; with the hint both settings read alike, and so does REPEATABLE READ, which would keep each lock.
 */
export const LOOKING = "WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)";

/**
 * How a row is taken.
 *
 * - UPDLOCK: an update lock that lasts as long as the transaction; two of them exclude each other, and readers
 *   go on.
 * - READPAST: a row that another transaction has locked is passed over.
 * - ROWLOCK: no lock of a page, which would hide rows that nobody has.
 * - READCOMMITTEDLOCK: the row as it is now, and not its last version, whatever the database's settings are.
 */
export const TAKING = "WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)";

/** A row that others have locked is an error at once (Msg 1222), which the batch catches: it was seen. */
export const SEEING = "WITH (ROWLOCK, READCOMMITTEDLOCK, NOWAIT)";

/**
 * What a claim begins with that runs in no transaction: the session's level is what its last user left, and
 * READPAST is refused at SERIALIZABLE and SNAPSHOT. Like every SET it ends with a batch that has parameters.
 */
export const AT_READ_COMMITTED = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;";

export interface Ordered {
  /** Conditions on the row called `i`. */
  readonly conditions: readonly string[];
  /** What each row carries beside its place. */
  readonly extra?: readonly string[];
}

/** The first `limit` rows that are due: `priority`, `due` and `id`, as far as the table orders by them. */
export function dueRows(sql: TableSql, ordered: Ordered, limit: string): string {
  const priority = sql.of("priority");
  const due = sql.of("retryAfter");
  const within = (...more: readonly string[]): string[] => {
    if (due === undefined) return [range(sql, ordered, more, limit)];
    if (!sql.ordersByDue) return [range(sql, ordered, [...more, ...sql.due()], limit)];
    return [
      range(sql, ordered, [...more, `${due} IS NULL`], limit),
      range(sql, ordered, [...more, `${due} <= ${sql.now}`], limit),
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
  // Each in parentheses of its own: ORDER BY stands in no part of a UNION.
  return ranges
    .map((each, at) => `SELECT * FROM (\n${each}\n      ) AS range_${at + 1}`)
    .join("\n      UNION ALL\n      ");
}

/** Puts the first row of all, due or not, into the variables that `wanted` names by column. */
export function readFirst(
  sql: TableSql,
  conditions: readonly string[],
  wanted: readonly string[],
): string {
  const priority = sql.of("priority", "h");
  const due = sql.ordersByDue ? sql.of("retryAfter", "h") : undefined;
  const order = [priority, due, `h.${sql.id}`].filter((part) => part !== undefined).join(", ");
  const first = (...more: readonly string[]) => `SELECT TOP (1) ${wanted.join(", ")}
FROM ${sql.name} AS h ${SEEING}
WHERE ${all(conditions, more)}
ORDER BY ${order};`;
  if (priority === undefined) return `SET @id = NULL;\n${first()}`;
  return `SET @id = NULL;
${first(`${priority} IS NOT NULL`)}
IF @id IS NULL
${first(`${priority} IS NULL`)}`;
}

/** ORDER BY of rows whose place is selected as {@link placed}. */
export function place(sql: TableSql, alias: string, id = `${alias}.id`): string {
  const parts = [id];
  if (sql.ordersByDue) parts.unshift(`${alias}.due`);
  if (sql.table.roles.priority !== undefined) {
    parts.unshift(`CASE WHEN ${alias}.priority IS NULL THEN 1 ELSE 0 END`, `${alias}.priority`);
  }
  return parts.join(", ");
}

/** A variable for what says a row's place before its id does. */
export interface PlaceVariable {
  readonly name: "priority" | "due";
  readonly type: string;
  /** Of the row that is called so. */
  of(alias: string): string;
}

export function placeVariables(sql: TableSql): PlaceVariable[] {
  const { priority, retryAfter } = sql.table.roles;
  const variables: PlaceVariable[] = [];
  if (priority !== undefined) {
    variables.push({ name: "priority", type: "bigint", of: (i) => sql.columnOf(priority, i) });
  }
  if (sql.ordersByDue && retryAfter !== undefined) {
    const of = (alias: string) => utc(sql.columnOf(retryAfter, alias));
    variables.push({ name: "due", type: "datetime2(7)", of });
  }
  return variables;
}

/**
 * That the row `i`, which is locked, has the place that the variables hold, where it was found. One that was moved in
 * between, by a retry for a later time or by the service, may be due already, and others of its group stand before it
 * now.
 */
export function inPlace(sql: TableSql): string[] {
  return placeVariables(sql).map(
    ({ name, of }) => `(${of("i")} = @${name} OR (${of("i")} IS NULL AND @${name} IS NULL))`,
  );
}

function placed(sql: TableSql, alias = "i"): string {
  const parts = [`${alias}.${sql.id} AS id`];
  if (sql.ordersByDue) parts.unshift(`${sql.of("retryAfter", alias)} AS due`);
  const priority = sql.of("priority", alias);
  if (priority !== undefined) parts.unshift(`${priority} AS priority`);
  return parts.join(", ");
}

function range(
  sql: TableSql,
  { conditions, extra = [] }: Ordered,
  more: readonly string[],
  limit: string,
): string {
  const due = sql.ordersByDue ? sql.of("retryAfter") : undefined;
  const order = [sql.of("priority"), due, `i.${sql.id}`].filter((part) => part !== undefined);
  return `      SELECT TOP (${limit}) ${[placed(sql), ...extra].join(", ")}
      FROM ${sql.name} AS i ${LOOKING}
      WHERE ${all(conditions, more)}
      ORDER BY ${order.join(", ")}`;
}
