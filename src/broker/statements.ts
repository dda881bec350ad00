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
  const replaced = replacedStatements(table);
  const statements = new Map<string, Statement>();
  for (const [name, statement] of Object.entries(built ?? {})) {
    if (isStatement(statement) && !replaced.has(name)) statements.set(name, statement);
  }
  for (const [event, needed] of Object.entries(NEEDED)) {
    if (table.custom?.[event as CustomEventName] === undefined) continue;
    if (needed.every((name) => statements.has(name))) continue;
    throw new TableError(
      `${tableLabel(table)}: the dialect ${dialect.name} does not take the custom event "${event}"`,
    );
  }
  return statements;
}

/** What the service's own events do in place of the dialect's statements. */
function replacedStatements({ custom = {} }: TableDescription): ReadonlySet<string> {
  const replaced = new Set<string>(Object.keys(custom));
  if (custom.lock !== undefined) replaced.add("claim");
  if (custom.ack !== undefined) replaced.add("ackOrFail");
  // A row that is dropped is acknowledged, unless an event says otherwise.
  if (custom.discard === undefined) replaced.delete("ack");
  return replaced;
}

/** What the library runs around such an event. */
const NEEDED: { readonly [event in CustomEventName]?: readonly string[] } = {
  claim: ["take"],
  extend: ["extendable", "tokens"],
  lock: ["candidates", "take"],
};

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
  for (const [event, own] of Object.entries(table.custom ?? {})) {
    if (typeof own === "function" || own?.[name] !== undefined) continue;
    throw new TableError(`${label}: ${sentence("customDatabase", { event, database: name })}`);
  }
  const { isolation, mode } = table;
  if (isolation !== undefined && !features.isolations.includes(isolation)) {
    const words = { database: name, isolation, levels: joined(features.isolations) };
    throw new TableError(`${label}: ${sentence("noIsolation", words)}`);
  }
  const { rowLockIsolations = features.isolations } = features;
  if (
    isolation !== undefined &&
    table.form === "rowLock" &&
    !rowLockIsolations.includes(isolation)
  ) {
    const words = { database: name, isolation, levels: joined(rowLockIsolations) };
    throw new TableError(`${label}: ${sentence("noRowLockIsolation", words)}`);
  }
  if (mode !== undefined && !features.modes.includes(mode)) {
    const words = { database: name, mode, modes: joined(features.modes) };
    throw new TableError(`${label}: ${sentence("noMode", words)}`);
  }
}

function isStatement(value: unknown): value is Statement {
  return typeof value === "object" && value !== null && "text" in value && "params" in value;
}
