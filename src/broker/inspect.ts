/** What a start and the command line ask of a table. */
import { bind } from "../dialect/bind.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import type { Connection } from "../driver/connection.ts";
import { refusedStatement } from "../driver/refused-statement.ts";
import { runSteps } from "../driver/run-steps.ts";
import type { TableDescription } from "../table/description.ts";

export async function ask<Row>(
  connection: Connection,
  statement: Statement,
  values: Readonly<Record<string, unknown>> = {},
): Promise<Row[]> {
  const [result] = await runSteps<Row>(connection, [bind(statement, values)]);
  return result?.rows ?? [];
}

/**
 * What the server refuses a statement with; undefined where it takes it, or is not to be asked.
 *
 * @throws what says nothing of the statement: an outage, a lock that was not free.
 */
export function refusalOf(
  connection: Connection,
  { errors, inspection }: Dialect,
  statement: Statement,
): Promise<{ readonly error: unknown } | undefined> {
  return refusedStatement(connection, errors, inspection, statement);
}

/** The DDL of indexes that the table's claims want and do not have. */
export async function missingIndexes(
  connection: Connection,
  { inspection }: Dialect,
  table: TableDescription,
): Promise<string[]> {
  if (table.custom?.claim !== undefined) return [];
  const missing: string[] = [];
  for (const { ddl, present } of inspection.indexes(table)) {
    const rows = await ask<{ present: unknown }>(connection, present);
    if (!rows.some((row) => isTrue(row.present))) missing.push(ddl);
  }
  return missing;
}

/** Drivers answer truth as true, 1, "t" or "true". */
export function isTrue(value: unknown): boolean {
  return value === true || value === "t" || value === "true" || Number(value) === 1;
}
