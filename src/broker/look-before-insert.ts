import { bind } from "../dialect/bind.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { StatementStep } from "../driver/connection.ts";
import type { TableDescription } from "../table/description.ts";
import { columnFault, inspectedColumns } from "./column-faults.ts";

/** The tables that were found to be in order, by what has the sessions. */
const known = new WeakMap<object, WeakSet<TableDescription>>();

/**
 * What goes before an insert on a database whose sessions may be set so that they write something else than they are
 * given. Nothing where that is known: a source is asked once for each table, so that its inserts cost no more for it.
 *
 * The step throws SchemaError for such a session; nothing is written then.
 */
export function lookBeforeInsert(
  table: TableDescription,
  dialect: Dialect,
  origin: object | undefined,
): readonly StatementStep[] {
  if (dialect.features.sessionsMayLose !== true) return [];
  if (origin !== undefined && known.get(origin)?.has(table) === true) return [];
  const look = bind(dialect.inspection.columns(table), {
    schema: table.schema ?? null,
    table: table.name,
  });
  const wanted = table.columns.map(({ name }) => name);
  const program: StatementStep["program"] = {
    isSingle: true,
    *run() {
      const { rows } = yield { ...look, prepare: false };
      const fault = columnFault(table, inspectedColumns(rows), wanted);
      if (fault !== undefined) throw fault;
      if (origin !== undefined) remember(origin, table);
      return [];
    },
  };
  return [{ kind: "query", text: look.text, prepare: false, program }];
}

function remember(origin: object, table: TableDescription): void {
  const tables = known.get(origin) ?? new WeakSet();
  tables.add(table);
  known.set(origin, tables);
}
