import { bind } from "../../dialect/bind.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import type { Statement } from "../../dialect/statement.ts";
import type { Connection } from "../../driver/connection.ts";
import { runSteps } from "../../driver/run-steps.ts";
import { sanitizeError } from "../../redact.ts";
import { type TableDescription, tableLabel } from "../../table/description.ts";
import { longNames } from "../../table/names.ts";
import {
  type ColumnShape,
  compareTable,
  type Finding,
  type Findings,
  type TableShape,
} from "./table-shape.ts";
import { tableStatements } from "./table-statements.ts";

/** What was found of one table. */
export interface CheckedTable extends Findings {
  readonly table: TableDescription;
  /** Undefined: the database has no such table. */
  readonly shape?: TableShape;
  /** How many statements the server took, and how many there are. */
  readonly taken: number;
  readonly statements: number;
}

/** A table against its database: columns, then each statement, prepared and not run. */
export async function checkTable(
  table: TableDescription,
  dialect: Dialect,
  connection: Connection,
): Promise<CheckedTable> {
  const names = longNames(table, dialect.features.longestName, dialect.name);
  if (names.length > 0) return refused(table, names);
  const shape = await shapeOf(table, dialect, connection);
  if (shape.size === 0) {
    return refused(table, [
      `the database has no table ${tableLabel(table)}: create it ("intray ddl" prints how), or correct its name and schema`,
    ]);
  }
  const compared = compareTable(table, shape, dialect);
  let statements: ReadonlyMap<string, Statement>;
  try {
    statements = tableStatements(table, dialect);
  } catch (error) {
    const { problems } = refused(table, [sanitizeError(error)]);
    return { ...refused(table, []), shape, problems: [...compared.problems, ...problems] };
  }
  const refusals = await refusedStatements(statements, dialect, connection);
  return {
    table,
    shape,
    statements: statements.size,
    taken: statements.size - refusals.length,
    problems: [...compared.problems, ...refusals],
    advice: [...compared.advice, ...(await missingIndexes(table, dialect, connection))],
  };
}

function refused(table: TableDescription, messages: readonly string[]): CheckedTable {
  return {
    table,
    problems: messages.map((message) => ({ message })),
    advice: [],
    taken: 0,
    statements: 0,
  };
}

interface CatalogueRow extends ColumnShape {
  readonly name: string;
}

/** Empty where the database has no such table. */
export async function shapeOf(
  table: TableDescription,
  { inspection }: Dialect,
  connection: Connection,
): Promise<TableShape> {
  const rows = await ask<CatalogueRow>(connection, inspection.columns(table), {
    schema: table.schema ?? null,
    table: table.name,
  });
  return new Map(
    rows.map(({ generated, name, nullable, type }) => [name, { type, nullable, generated }]),
  );
}

/** Each in a transaction of its own, so that one that is refused says nothing of the others. */
async function refusedStatements(
  statements: ReadonlyMap<string, Statement>,
  { errors, inspection }: Dialect,
  connection: Connection,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, statement] of statements) {
    const texts = inspection.prepare?.(statement) ?? [];
    await connection.begin();
    try {
      for (const text of texts) await connection.query(text);
    } catch (error) {
      if (errors.isSessionLost(error)) throw error;
      findings.push({ statement: name, message: sanitizeError(error) });
    } finally {
      await connection.rollback().catch(() => {});
    }
  }
  return findings;
}

async function missingIndexes(
  table: TableDescription,
  { inspection }: Dialect,
  connection: Connection,
): Promise<Finding[]> {
  if (table.custom?.claim !== undefined) return [];
  const findings: Finding[] = [];
  for (const { ddl, present } of inspection.indexes(table)) {
    const [row] = await ask<{ present: unknown }>(connection, present, {});
    if (row === undefined || isTrue(row.present)) continue;
    const text = ddl.replace(/\s+/g, " ");
    findings.push({ message: `claims have no index to find rows by: ${text}` });
  }
  return findings;
}

function isTrue(value: unknown): boolean {
  return value === true || value === "t" || value === "true" || Number(value) === 1;
}

async function ask<Row>(
  connection: Connection,
  statement: Statement,
  values: Readonly<Record<string, unknown>>,
): Promise<Row[]> {
  const [result] = await runSteps<Row>(connection, [bind(statement, values)]);
  return result?.rows ?? [];
}
