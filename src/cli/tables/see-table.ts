import type { RowsOf } from "../../broker/admin.ts";
import { withConnection } from "../../driver/checkout.ts";
import type { ConnectionSource } from "../../driver/connection.ts";
import { describeQueue } from "../../table/describe-queue.ts";
import { type TableDescription, tableLabel } from "../../table/description.ts";
import { shapeOf } from "../check/check-table.ts";
import { CliError, UsageError } from "../cli-error.ts";
import type { PlacedTable } from "../config/named-table.ts";

/** @throws CliError where the database has not the table, or the table not all columns. */
export async function seeTable(
  source: ConnectionSource,
  { database, table }: PlacedTable,
): Promise<void> {
  const label = tableLabel(table);
  const shape = await withConnection(source, new AbortController().signal, (connection) =>
    shapeOf(table, database.dialect, connection),
  );
  if (shape.size === 0) {
    throw new CliError(
      "NO_TABLE",
      `the database ${database.name} has no table ${label}: create it ("intray ddl" prints how), or correct its description`,
    );
  }
  const missing = table.columns.map(({ name }) => name).filter((name) => !shape.has(name));
  if (missing.length === 0) return;
  throw new CliError(
    "NO_COLUMN",
    `the table ${label} of the database ${database.name} has no column ${missing.join(", ")}: "intray check" tells all that differs`,
  );
}

/**
 * A group of the table, or the whole table.
 *
 * @throws UsageError for a group of a table without groups.
 */
export function rowsAt(table: TableDescription, group: string | undefined): RowsOf {
  if (group === undefined) return { description: table };
  if (table.roles.group === undefined) {
    throw new UsageError(`${tableLabel(table)} has no groups: leave the group out`);
  }
  return describeQueue(table, [group]);
}
