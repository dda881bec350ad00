/**
 * Giving rows up: to another group of the table, or to another table. SQLite cannot move a row in one
 * statement, so it is copied and then deleted, in one transaction.
 */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { quoted } from "./sql.ts";
import { type Change, given, ours, remove, unleased, update } from "./table-held.ts";
import { type TableSql, tableName } from "./table-names.ts";

/** Parameters: ids (in the lease form tokens and attempts), reasons and group, where they have a column. */
export function deadLetter(build: () => TableSql, settings: DeadLetterSettings): Statement {
  const { reason, table } = settings;
  const lists = reason === undefined ? [] : [reasons];
  const sql = build();
  if (table === undefined) {
    const changes: Change[] = [
      ...anew(sql),
      ...(reason === undefined ? [] : [{ column: quoted(reason.name), value: "given.reason" }]),
    ];
    return sql.statement(update(sql, changes, { lists }));
  }
  const from = `FROM given JOIN ${sql.name} AS i ON ${ours(sql)}`;
  const copying = sql.statement(copy(sql, table, settings, `WITH ${given(sql, lists)}\n`, from));
  const gone = build();
  return { ...gone.statement(remove(gone)), before: [copying] };
}

const reasons = { column: "reason", param: "reasons", type: "TEXT" };

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

/** Writes the rows called `i` into the table; `from` says which, `given` where their reasons are. */
export function copy(
  sql: TableSql,
  table: TableDescription,
  { copied = [], reason }: DeadLetterSettings,
  given: string,
  from: string,
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
  if (reason !== undefined && given !== "") cells.push({ to: reason, value: "given.reason" });
  const { id } = table.roles;
  // A row of nothing but defaults has no other spelling here: an integer key that is null is made.
  if (cells.length === 0 && id !== undefined) cells.push({ to: id, value: "NULL" });
  return `${given}INSERT INTO ${tableName(table)} (${cells.map(({ to }) => quoted(to.name)).join(", ")})
SELECT ${cells.map(({ value }) => value).join(", ")}
${from}
ORDER BY i.${sql.id}`;
}
