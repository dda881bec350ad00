import { bind } from "../dialect/bind.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { QueryResult, StatementStep } from "../driver/connection.ts";
import { isObject, shown } from "../options.ts";
import { type ColumnDescription, type TableDescription, tableLabel } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import { decodeColumn, encodeColumn } from "./column-values.ts";
import { executorOf } from "./executor.ts";
import { commitOf } from "./handler-transactions.ts";
import { lookBeforeInsert } from "./look-before-insert.ts";
import type { PayloadFormat } from "./payload.ts";
import { isNotified, wakeSleepers } from "./wake-registry.ts";

/** How rows are written. */
export interface WriteSettings {
  readonly dialect: Dialect;
  /**
   * Notifies listeners of other processes, once for each group. Default: where a broker of this process
   * listens for notifications on the table.
   */
  readonly notify?: boolean;
  /** Wait of each row in milliseconds, by the database's clock; instead of its due column. */
  readonly dueInMs?: number;
  /** How the payload column is written. Default: by its type. */
  readonly payload?: PayloadFormat;
}

/** A row to write: a value for each property; one that is left out is left to the database. */
export type RowValues = Readonly<Record<string, unknown>>;

/**
 * Writes rows, as few statements as they fit into, all or none of them where `conn` opens a transaction
 * or is in one. Wakes who waits for them. Answers the rows' ids, in order.
 *
 * @throws TypeError for a property that the table has not, or a value that its column cannot take.
 * @throws SchemaError where the session would write something else, such as a time in its own zone.
 */
export async function insertRows(
  table: TableDescription,
  conn: unknown,
  rows: readonly RowValues[],
  settings: WriteSettings,
): Promise<readonly unknown[]> {
  const executor = executorOf(conn);
  if (rows.length === 0) return [];
  const { dialect } = settings;
  checkNames(table, dialect);
  const inserts = insertSteps(table, rows, settings);
  const groups = groupsOf(table, rows);
  const news = notices(table, conn, groups, settings);
  const before = lookBeforeInsert(table, dialect, executor.origin);
  const steps = [...before, ...inserts, ...news];
  const results = await executor.run(steps, dialect.beginShort);
  wake(table, conn, groups);
  const { id } = table.roles;
  if (id === undefined) return [];
  return results
    .slice(before.length, before.length + inserts.length)
    .flatMap((result: QueryResult) => result.rows)
    .map((row) => decodeColumn(dialect, id, row.id));
}

/** Parameters are counted in 16 bits on most wires, and postgres.js takes two fewer. */
const MOST_PARAMETERS = 65_533;

/**
 * Rows that give the same columns share a statement, as long as they stand together: so the database
 * numbers them in their order, and fills exactly what each leaves out.
 */
function insertSteps(
  table: TableDescription,
  rows: readonly RowValues[],
  { dialect, dueInMs, payload }: WriteSettings,
): StatementStep[] {
  const steps: StatementStep[] = [];
  const parameter = (column: ColumnDescription, value: unknown) => {
    if (column === due) return dueInMs;
    if (column.role === "payload" && payload !== undefined) return payload.encode(value);
    return encodeColumn(dialect, column, value);
  };
  const due = dueInMs === undefined ? undefined : table.roles.retryAfter;
  for (const run of runsOf(table, rows, due)) {
    const most = dialect.features.mostParameters ?? MOST_PARAMETERS;
    const size = Math.max(1, Math.floor(most / Math.max(1, run.columns.length)));
    for (let from = 0; from < run.rows.length; from += size) {
      const part = run.rows.slice(from, from + size);
      const statement = dialect.insert(table, run.columns, part.length, {
        dueInMs: due !== undefined,
      });
      const values: Record<string, unknown> = {};
      for (const [r, row] of part.entries()) {
        for (const [c, column] of run.columns.entries()) {
          values[`r${r}c${c}`] = parameter(column, row[column.property]);
        }
      }
      // A name on the server for every number of rows would only fill its memory.
      steps.push({ ...bind(statement, values), prepare: part.length === 1 });
    }
  }
  return steps;
}

interface Run {
  readonly columns: readonly ColumnDescription[];
  readonly rows: RowValues[];
}

function runsOf(
  table: TableDescription,
  rows: readonly RowValues[],
  due: ColumnDescription | undefined,
): Run[] {
  const runs: Run[] = [];
  for (const row of rows) {
    const columns = givenColumns(table, row, due);
    const last = runs.at(-1);
    const fits =
      last?.columns.length === columns.length &&
      last.columns.every((column, index) => column === columns[index]);
    if (fits) last.rows.push(row);
    else runs.push({ columns, rows: [row] });
  }
  return runs;
}

function givenColumns(
  table: TableDescription,
  row: RowValues,
  due: ColumnDescription | undefined,
): ColumnDescription[] {
  if (!isObject(row) || Array.isArray(row)) {
    throw new TypeError(`${tableLabel(table)} takes rows as objects, not ${shown(row)}`);
  }
  for (const property of Object.keys(row)) {
    const column = table.columns.find((each) => each.property === property);
    if (column === undefined) {
      const known = table.columns.map((each) => each.property).join(", ");
      throw new TypeError(`${tableLabel(table)} has no "${property}"; there are ${known}`);
    }
    if (column.generated === "always" && row[property] !== undefined) {
      throw new TypeError(`${tableLabel(table)}: the database alone writes "${property}"`);
    }
  }
  return table.columns.filter((column) => column === due || row[column.property] !== undefined);
}

/** Undefined where a row does not say: the column's default, or the service's own trigger does. */
function groupsOf(
  table: TableDescription,
  rows: readonly RowValues[],
): ReadonlySet<string | undefined> {
  const { group } = table.roles;
  if (group === undefined) return new Set([undefined]);
  return new Set(
    rows.map((row) => {
      const value = row[group.property];
      return value === undefined || value === null ? undefined : String(value);
    }),
  );
}

function notices(
  table: TableDescription,
  conn: unknown,
  groups: ReadonlySet<string | undefined>,
  { dialect, notify = isNotified(table) }: WriteSettings,
): StatementStep[] {
  if (!notify) return [];
  const statement = dialect.notify?.();
  const channel = dialect.channel?.(table);
  if (statement === undefined || channel === undefined) return [];
  const commit = isObject(conn) ? commitOf(conn) : undefined;
  // An empty payload wakes all, so it stands for every other one.
  const payloads = groups.has(undefined) ? [""] : [...groups].map(noticeOf);
  return payloads
    .filter((payload) => commit?.afterwards(`notify ${channel} ${payload}`, noop) ?? true)
    .map((payload) => bind(statement, { channel, payload }));
}

/** A notification carries less than 8,000 bytes; an empty one wakes all. */
function noticeOf(group = ""): string {
  return Buffer.byteLength(group) < 8000 ? group : "";
}

function noop(): void {}

/** At once; within a handler's transaction once it has committed. */
function wake(
  table: TableDescription,
  conn: unknown,
  groups: ReadonlySet<string | undefined>,
): void {
  const commit = isObject(conn) ? commitOf(conn) : undefined;
  for (const group of groups) {
    const hook = () => wakeSleepers(table, group);
    if (commit === undefined) hook();
    else commit.afterwards(`wake ${tableLabel(table)} ${group ?? ""}`, hook);
  }
}
