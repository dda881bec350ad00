import type { ClaimSettings, Dialect, LeaseSettings } from "../dialect/dialect.ts";
import type { Statement } from "../dialect/statement.ts";
import { TableError } from "../errors.ts";
import { type CustomEventName, type TableDescription, tableLabel } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import { formWords, joined } from "../table/option-words.ts";
import { sentence } from "../table/sentences.ts";

/**
 * The statements that a subscription to the table will run, by their names.
 *
 * @throws TableError where the database's dialect does not build the table's form.
 */
export function formStatements(
  dialect: Dialect,
  table: TableDescription,
  claim: ClaimSettings,
  lease: Omit<LeaseSettings, keyof ClaimSettings>,
): ReadonlyMap<string, Statement> {
  checkForm(dialect, table);
  const built =
    table.form === "lease"
      ? dialect.lease?.(table, { ...claim, ...lease })
      : table.form === "rowLock"
        ? dialect.rowLock?.(table, claim)
        : dialect.advisoryLock?.(table, claim);
  const statements = new Map<string, Statement>();
  for (const [name, statement] of Object.entries(built ?? {})) {
    if (isStatement(statement)) statements.set(name, statement);
  }
  return statements;
}

/** @throws TableError naming what the database does not do. */
export function checkForm(dialect: Dialect, table: TableDescription): void {
  const { features, name } = dialect;
  const label = tableLabel(table);
  const isBuilt = dialect[table.form] !== undefined && features.forms.includes(table.form);
  if (!isBuilt) {
    const forms = joined(features.forms.map((form) => formWords[form]));
    const words = { database: name, form: formWords[table.form], forms };
    throw new TableError(`${label}: ${sentence("noForm", words)}`);
  }
  checkNames(table, dialect);
  for (const event of NOT_RUN) {
    if (table.custom?.[event] === undefined) continue;
    throw new TableError(
      `${label}: the custom event "${event}" is not run by this version; events that settle are: ack, retry, discard, retryAfter, deadLetter`,
    );
  }
  for (const [event, own] of Object.entries(table.custom ?? {})) {
    if (typeof own === "function" || own?.[name] !== undefined) continue;
    throw new TableError(`${label}: the custom event "${event}" has no function for ${name}`);
  }
  const { isolation, mode } = table;
  if (isolation !== undefined && !features.isolations.includes(isolation)) {
    const words = { database: name, isolation, levels: joined(features.isolations) };
    throw new TableError(`${label}: ${sentence("noIsolation", words)}`);
  }
  if (mode !== undefined && !features.modes.includes(mode)) {
    const words = { database: name, mode, modes: joined(features.modes) };
    throw new TableError(`${label}: ${sentence("noMode", words)}`);
  }
}

/** Never silently the dialect's own in their place. */
const NOT_RUN: readonly CustomEventName[] = ["claim", "fetch", "extend", "lock", "unlock"];

function isStatement(value: unknown): value is Statement {
  return typeof value === "object" && value !== null && "text" in value && "params" in value;
}
