/** Giving rows up: to another group of the table, or to another table. One statement, all or nothing. */
import type { ColumnDescription } from "../../table/description.ts";
import type { DeadLetterSettings } from "../dialect.ts";
import type { Statement } from "../statement.ts";
import { quoted } from "./sql.ts";
import { heldRows, unleased, update } from "./table-held.ts";
import { type TableSql, tableName } from "./table-names.ts";

/** Parameters: ids (in the lease form tokens and attempts), reasons and group, where they have a column. */
export function deadLetter(sql: TableSql, settings: DeadLetterSettings): Statement {
  return sql.statement(
    settings.table === undefined ? toGroup(sql, settings) : toTable(sql, settings.table, settings),
  );
}

const reasons = { column: "reason", param: "reasons", type: "text" };

function toGroup(sql: TableSql, { reason }: DeadLetterSettings): string {
  const { attemptFrom, roles } = sql.table;
  const group = sql.column("group");
  const attempt = sql.column("attempt");
  const due = sql.column("retryAfter");
  const done = sql.column("processedAt");
  const held = heldRows(sql, { lists: reason === undefined ? [] : [reasons] });
  const changes = [
    ...(group === undefined || roles.group === undefined
      ? []
      : [{ column: group, value: sql.groupValue(roles.group) }]),
    ...(attempt === undefined ? [] : [{ column: attempt, value: String(attemptFrom) }]),
    ...(due === undefined
      ? []
      : [{ column: due, value: roles.retryAfter?.nullable === true ? "NULL" : sql.clock }]),
    ...(done === undefined ? [] : [{ column: done, value: "NULL" }]),
    ...(reason === undefined ? [] : [{ column: quoted(reason.name), value: "locked.reason" }]),
    ...unleased(sql),
  ];
  return `${held}\n${update(sql, changes)}`;
}

/** What a row is where it arrives is the destination's to say, not what it was here. */
const ANEW: ReadonlySet<string | undefined> = new Set([
  "group",
  "attempt",
  "retryAfter",
  "lockedUntil",
  "processedAt",
]);

/** `held`: what selects the rows as `locked`, by their ids alone where there is no reason. */
export function toTable(
  sql: TableSql,
  table: TableSql["table"],
  { copied = [], reason }: DeadLetterSettings,
  held: string = heldRows(sql, {
    lists: reason === undefined ? [] : [reasons],
    lock: "UPDATE",
  }),
): string {
  const { attempt, group, retryAfter } = table.roles;
  const taken = copied.filter(([, to]) => !ANEW.has(to.role) && to !== reason);
  const cells: { to: ColumnDescription; value: string }[] = taken.map(([, to], index) => ({
    to,
    value: `gone.v${index}`,
  }));
  if (group !== undefined) cells.push({ to: group, value: sql.groupValue(group) });
  if (attempt !== undefined) cells.push({ to: attempt, value: String(table.attemptFrom) });
  if (retryAfter !== undefined && !retryAfter.nullable && retryAfter.generated === "never") {
    cells.push({ to: retryAfter, value: sql.clock });
  }
  if (reason !== undefined) cells.push({ to: reason, value: "gone.reason" });
  const values = taken.map(([from], index) => `, i.${quoted(from.name)} AS v${index}`).join("");
  const into =
    cells.length === 0
      ? `INSERT INTO ${tableName(table)} SELECT FROM gone`
      : `INSERT INTO ${tableName(table)} (${cells.map(({ to }) => quoted(to.name)).join(", ")})
  SELECT ${cells.map(({ value }) => value).join(", ")} FROM gone ORDER BY gone.place`;
  return `${held}, gone AS (
  DELETE FROM ${sql.name} AS i
  USING locked
  WHERE i.${sql.id} = locked.id
  RETURNING i.${sql.id} AS place${reason === undefined ? "" : ", locked.reason"}${values}
), moved AS (
  ${into}
)
SELECT gone.place::text AS id FROM gone`;
}
