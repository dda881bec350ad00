import { reasonColumn } from "../../broker/dead-letter.ts";
import { RowReader } from "../../broker/row-reader.ts";
import { formStatements } from "../../broker/statements.ts";
import type { ClaimSettings, Dialect } from "../../dialect/dialect.ts";
import type { Statement } from "../../dialect/statement.ts";
import type { TableDescription } from "../../table/description.ts";

/**
 * Every statement that a description determines, by its name: claims of one group and of all, settlements,
 * the move to another group, inserts. Events that the service has written itself are left out. A table that
 * dead letters go to is read by no subscription where the database does not do its form: it has inserts alone.
 *
 * @throws TableError where the database does not do the table's form.
 */
export function tableStatements(
  table: TableDescription,
  dialect: Dialect,
  takesDeadLetters: boolean,
): ReadonlyMap<string, Statement> {
  const statements = new Map<string, Statement>();
  const texts = new Set<string>();
  const add = (name: string, statement: Statement) => {
    if (texts.has(statement.text)) return;
    texts.add(statement.text);
    statements.set(name, statement);
  };
  const isRead = !takesDeadLetters || dialect.features.forms.includes(table.form);
  for (const groups of isRead ? groupings(table) : []) {
    const behind = groups === "every" ? " of every group" : "";
    for (const [name, statement] of formStatements(
      dialect,
      table,
      claimSettings(table, dialect, groups),
      { leaseMs: LEASE_MS },
    )) {
      add(`${name}${behind}`, statement);
    }
  }
  // Rows of a headers layout are written by its headers table.
  if (table.message !== undefined) return statements;
  const written = table.columns.filter(({ generated }) => generated !== "always");
  if (written.length > 0) add("insert", dialect.insert(table, written, 1));
  if (table.roles.retryAfter !== undefined) {
    add("insert with a delay", dialect.insert(table, written, 1, { dueInMs: true }));
  }
  return statements;
}

/** No statement's form depends on how long it is. */
const LEASE_MS = 30_000;

function groupings({ fifo, roles }: TableDescription): readonly ClaimSettings["groups"][] {
  if (roles.group === undefined) return ["none"];
  return fifo === "none" ? ["one"] : ["one", "every"];
}

function claimSettings(
  table: TableDescription,
  dialect: Dialect,
  groups: ClaimSettings["groups"],
): ClaimSettings {
  const reason = reasonColumn(table);
  return {
    columns: new RowReader({ table }, dialect).columns,
    groups,
    mostRows: 10,
    ...(groups !== "none" && { deadLetter: reason === undefined ? {} : { reason } }),
  };
}
