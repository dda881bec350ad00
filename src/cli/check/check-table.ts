import { ask, isTrue, missingIndexes, refusalOf } from "../../broker/inspect.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import type { Statement } from "../../dialect/statement.ts";
import type { Connection } from "../../driver/connection.ts";
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

/**
 * A table against its database: columns, then each statement, prepared and not run. `takesDeadLetters`: the
 * configuration names it among the tables where they go.
 */
export async function checkTable(
  table: TableDescription,
  dialect: Dialect,
  connection: Connection,
  takesDeadLetters: boolean,
): Promise<CheckedTable> {
  const names = longNames(table, dialect.features.longestName, dialect.name);
  if (names.length > 0) return refused(table, names);
  const rows = await catalogueOf(table, dialect, connection);
  const shape = shapeBy(rows);
  if (shape.size === 0) {
    return refused(table, [
      `the database has no table ${tableLabel(table)}: create it ("intray ddl" prints how), or correct its name and schema`,
    ]);
  }
  const { advice, problems } = compareTable(table, shape, dialect);
  const compared = { advice, problems: [...problems, ...faultsBeside(problems, rows, table)] };
  let statements: ReadonlyMap<string, Statement>;
  try {
    statements = tableStatements(table, dialect, takesDeadLetters);
  } catch (error) {
    const { problems } = refused(table, [sanitizeError(error)]);
    return { ...refused(table, []), shape, problems: [...compared.problems, ...problems] };
  }
  const refusals = await refusedStatements(statements, dialect, connection);
  const missing = await missingIndexes(connection, dialect, table);
  return {
    table,
    shape,
    statements: statements.size,
    taken: statements.size - refusals.length,
    problems: [...compared.problems, ...refusals],
    advice: [...compared.advice, ...missing.map(indexAdvice)],
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

type CatalogueRow = Omit<ColumnShape, "nullable"> & {
  readonly name: string;
  /** As the database tells truth. */
  readonly nullable: unknown;
  /** See the dialects' `TableInspection`. */
  readonly fault?: unknown;
};

/** Empty where the database has no such table. */
export async function shapeOf(
  table: TableDescription,
  dialect: Dialect,
  connection: Connection,
): Promise<TableShape> {
  return shapeBy(await catalogueOf(table, dialect, connection));
}

async function catalogueOf(
  table: TableDescription,
  { inspection }: Dialect,
  connection: Connection,
): Promise<CatalogueRow[]> {
  return await ask<CatalogueRow>(connection, inspection.columns(table), {
    schema: table.schema ?? null,
    table: table.name,
  });
}

/** What is wrong with described columns as the session sees them; what is all of theirs, once. */
function faultsBeside(
  problems: readonly Finding[],
  rows: readonly CatalogueRow[],
  { columns }: TableDescription,
): Finding[] {
  const told = new Set(problems.map(({ column }) => column));
  const faults = new Map<string, string>();
  for (const { fault, name } of rows) {
    const isNews = typeof fault === "string" && !faults.has(fault) && !told.has(name);
    if (isNews && columns.some((column) => column.name === name)) faults.set(fault, name);
  }
  return [...faults].map(([fault, column]) => ({
    column,
    message: `column "${column}" ${fault}`,
  }));
}

function shapeBy(rows: readonly CatalogueRow[]): TableShape {
  return new Map(
    rows.map(({ generated, name, nullable, type }) => [
      name,
      { type, nullable: isTrue(nullable), generated },
    ]),
  );
}

async function refusedStatements(
  statements: ReadonlyMap<string, Statement>,
  dialect: Dialect,
  connection: Connection,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, statement] of statements) {
    const refusal = await refusalOf(connection, dialect, statement);
    if (refusal === undefined) continue;
    findings.push({ statement: name, message: sanitizeError(refusal.error) });
  }
  return findings;
}

function indexAdvice(ddl: string): Finding {
  const message = `claims have no index to find rows by: ${ddl.replace(/\s+/g, " ")}`;
  return { message };
}
