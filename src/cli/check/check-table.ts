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
  const shape = await shapeOf(table, dialect, connection);
  if (shape.size === 0) {
    return refused(table, [
      `the database has no table ${tableLabel(table)}: create it ("intray ddl" prints how), or correct its name and schema`,
    ]);
  }
  const compared = compareTable(table, shape, dialect);
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
};

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
