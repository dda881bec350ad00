/** Giving rows up: to another group of the table, or to another table: copied and then deleted, in one transaction. */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { THROWN } from "./errors.ts";
import { quoted } from "./sql.ts";
import {
  type Change,
  forEachGiven,
  inTransaction,
  ours,
  unleased,
  updateOurs,
} from "./table-given.ts";
import { all, type TableSql, tableName } from "./table-names.ts";

/** Parameters: ids (in the lease form tokens and attempts), reasons and group, where they have a column. */
export function deadLetter(build: () => TableSql, settings: DeadLetterSettings): Statement {
  const { reason, table } = settings;
  const sql = build();
  if (table === undefined) {
    const given = reason && [{ column: quoted(reason.name), value: "@reason" }];
    const each = updateOurs(sql, [...anew(sql), ...(given ?? [])]);
    return inTransaction(forEachGiven(sql, { each }));
  }
  const each = move(sql, table, settings, { conditions: ours(sql), givesReasons: true });
  return inTransaction(forEachGiven(sql, { begin: MOVED, each }), () => false);
}

/** What {@link move} needs declared: the rows that it has deleted. */
export const MOVED = "DECLARE @gone TABLE (n int NOT NULL);";

/**
 * The row, copied and deleted: under an update lock from the first statement on, so that what is deleted is what
 * was copied. Where a server takes hints for comments the row may have changed meanwhile: that is an error, and
 * the same again may work. A copy that fails ends the batch: with XACT_ABORT off it would go on, and delete.
 */
export function move(
  sql: TableSql,
  table: TableDescription,
  settings: DeadLetterSettings,
  { conditions, givesReasons, hint = HOLDING }: Moving,
): string {
  const isFound = "EXISTS (SELECT 1 FROM @answer AS a WHERE a.n = @n)";
  return `BEGIN TRY
INSERT INTO @answer (n, id)
SELECT @n, @named
FROM ${sql.name} AS i ${hint}
WHERE ${conditions};
${copy(sql, table, settings, givesReasons)}
FROM ${sql.name} AS i ${HOLDING}
WHERE ${all(conditions, isFound)};
DELETE i
OUTPUT @n INTO @gone (n)
FROM ${sql.name} AS i ${HOLDING}
WHERE ${all(conditions, isFound)};
IF ${isFound} AND NOT EXISTS (SELECT 1 FROM @gone AS g WHERE g.n = @n)
THROW ${THROWN.lockNotGranted}, N'intray: a row changed while it was moved', 1;
END TRY
BEGIN CATCH
THROW;
END CATCH;`;
}

/** The row is held until the transaction ends, and waited for where somebody else has locked it. */
const HOLDING = "WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)";

export interface Moving {
  /** Which row called `i` is moved. */
  readonly conditions: string;
  readonly givesReasons: boolean;
  readonly hint?: string;
}

/** What starts anew in a row that goes to another group of its table. */
export function anew(sql: TableSql): Change[] {
  const { attemptFrom, roles } = sql.table;
  const { attempt, group, processedAt, retryAfter } = roles;
  const changes: Change[] = [];
  const set = (column: ColumnDescription | undefined, value: () => string) => {
    if (column !== undefined) changes.push({ column: quoted(column.name), value: value() });
  };
  if (group !== undefined) set(group, () => sql.groupValue(group));
  set(attempt, () => String(attemptFrom));
  set(retryAfter, () => (retryAfter?.nullable === true ? "NULL" : sql.now));
  set(processedAt, () => "NULL");
  return [...changes, ...unleased(sql)];
}

/** What a row is where it arrives is the destination's to say, not what it was here. */
const ANEW: ReadonlySet<string | undefined> = new Set([
  "group",
  "attempt",
  "retryAfter",
  "lockedUntil",
  "processedAt",
]);

/** Writes the row called `i` into the table: what stands before FROM. */
function copy(
  sql: TableSql,
  table: TableDescription,
  { copied = [], reason }: DeadLetterSettings,
  givesReasons: boolean,
): string {
  const { attempt, group, retryAfter } = table.roles;
  const cells = copied
    .filter(([, to]) => !ANEW.has(to.role) && to !== reason)
    .map(([column, to]) => ({ to, value: sql.columnOf(column) }));
  if (group !== undefined) cells.push({ to: group, value: sql.groupValue(group) });
  if (attempt !== undefined) cells.push({ to: attempt, value: String(table.attemptFrom) });
  if (retryAfter !== undefined && !retryAfter.nullable && retryAfter.generated === "never") {
    cells.push({ to: retryAfter, value: sql.now });
  }
  if (reason !== undefined && givesReasons) cells.push({ to: reason, value: "@reason" });
  // An INSERT ... SELECT names a column at least: one that may be null says nothing by it.
  if (cells.length === 0) {
    const free = table.columns.find(({ nullable, role }) => nullable && role !== "id");
    if (free === undefined) {
      throw new TypeError(
        `${table.name}: SQL Server takes no row of nothing but defaults from another table; give it a column that the row has, or one that may be null`,
      );
    }
    cells.push({ to: free, value: "NULL" });
  }
  return `INSERT INTO ${tableName(table)} (${cells.map(({ to }) => quoted(to.name)).join(", ")})
SELECT ${cells.map(({ value }) => value).join(", ")}`;
}
