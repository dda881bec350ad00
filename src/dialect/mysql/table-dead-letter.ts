/**
 * Giving rows up: to another group of the table, or to another table: locked, copied and then deleted, in one
 * transaction.
 */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { quoted } from "./sql.ts";
import { type Change, given, isGiven, unleased } from "./table-given.ts";
import { type TableSql, tableName } from "./table-names.ts";
import { givenAgain, lockOurs, programOf, updating } from "./table-program.ts";

/** Parameters: ids (in the lease form tokens and attempts), reasons and group, where they have a column. */
export function deadLetter(build: () => TableSql, settings: DeadLetterSettings): Statement {
  const { reason, table } = settings;
  if (table === undefined) {
    return updating(build, (sql, source) => [
      ...anew(sql),
      ...(reason === undefined
        ? []
        : [
            {
              column: quoted(reason.name),
              value: source === "given" ? "g.reason" : sql.param("reason"),
            },
          ]),
    ]);
  }
  const [sql, gone] = [build(), build()];
  return moving(lockOurs(build()), sql.statement(copy(sql, table, settings, true)), remove(gone));
}

/** What is locked, copied, and then deleted. Answers `id` a moved row. */
export function moving(locked: Statement, copied: Statement, removed: Statement): Statement {
  return programOf([locked, copied, removed], function* (values) {
    const { rows } = yield bind(locked, values);
    if (rows.length === 0) return [];
    const found = givenAgain(values, rows);
    yield bind(copied, found);
    yield bind(removed, found);
    return rows;
  });
}

/** The given rows, which are locked, gone. */
export function remove(sql: TableSql): Statement {
  return sql.statement(`DELETE i FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}`);
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

/** Writes the given rows into the table. */
export function copy(
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
  if (reason !== undefined && givesReasons) cells.push({ to: reason, value: "g.reason" });
  const { id } = table.roles;
  // A row of nothing but defaults: a key that counts up is made where it is given as null.
  if (cells.length === 0 && id !== undefined) cells.push({ to: id, value: "NULL" });
  return `INSERT INTO ${tableName(table)} (${cells.map(({ to }) => quoted(to.name)).join(", ")})
SELECT ${cells.map(({ value }) => value).join(", ")}
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}`;
}
