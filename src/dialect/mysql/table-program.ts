/**
 * Statements that are several, over the rows in hand that are ours.
 *
 * One row is one statement, and the number of rows that it changed says whether the row was ours. Several are
 * locked first, which says which are ours, and then changed.
 */
import { bind } from "../bind.ts";
import type { ProgramRun, Statement, Values } from "../statement.ts";
import { givenCount } from "./given.ts";
import { ClaimLost } from "./sql.ts";
import { assigned, type Change, given, isGiven, ours, oursAlone } from "./table-given.ts";
import type { TableSql } from "./table-names.ts";

export type Build = () => TableSql;

/** A statement that is several, or one of them for a single row. */
export function programOf(
  parts: readonly Statement[],
  run: (values: Values) => ProgramRun,
  isSingle?: (values: Values) => boolean,
): Statement {
  const [first] = parts;
  if (first === undefined) throw new TypeError("a program has statements");
  const params = [...new Set(parts.flatMap((part) => part.params))];
  return {
    text: first.text,
    params,
    ...(first.made && { made: first.made }),
    program: { parts, run, ...(isSingle && { isSingle }) },
  };
}

/** The given rows that are ours, locked in the order of their ids. Answers `id`. */
export function lockOurs(sql: TableSql, isLive = false, more = ""): Statement {
  return sql.statement(`SELECT CAST(i.${sql.id} AS CHAR) AS id
FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${ours(sql, isLive)}
FOR UPDATE${more}`);
}

/** Rows of the answer as the statements behind it are given them. */
export function givenAgain(
  values: Values,
  rows: readonly Readonly<Record<string, unknown>>[],
): Values {
  const { attempts, delaysMs, ids, reasons, tokens } = values;
  if (!Array.isArray(ids)) return values;
  const wanted = new Set(rows.map(({ id }) => id));
  const kept = ids.flatMap((id, index) => (wanted.has(id) ? [index] : []));
  const pick = (list: unknown) => (Array.isArray(list) ? kept.map((index) => list[index]) : list);
  return {
    ...values,
    ids: pick(ids),
    tokens: pick(tokens),
    attempts: pick(attempts),
    delaysMs: pick(delaysMs),
    reasons: pick(reasons),
  };
}

/** What is to become of rows: how the SQL says it of one, and of those that are locked. */
interface Settling {
  one(sql: TableSql): string;
  many(sql: TableSql): string;
  /**
   * A row may be as it is to be already, such as one whose attempts are full: without FOUND_ROWS, which a pool may
   * leave out, the server does not count it. Then a look tells whether it is ours.
   */
  readonly mayChangeNothing: boolean;
}

/** Answers `id` of each row that was ours. */
function settling(build: Build, { many, mayChangeNothing, one }: Settling): Statement {
  const [alone, together] = [build(), build()];
  const single = alone.statement(one(alone));
  const held = lockOurs(build());
  const change = together.statement(many(together));
  return programOf(
    [single, held, change],
    function* (values) {
      if (givenCount(values) === 1) {
        const { rowCount } = yield bind(single, values);
        const [id] = Array.isArray(values["ids"]) ? values["ids"] : [];
        if (rowCount > 0) return [{ id }];
        return mayChangeNothing ? (yield bind(held, values)).rows : [];
      }
      const { rows } = yield bind(held, values);
      if (rows.length > 0) yield bind(change, givenAgain(values, rows));
      return rows;
    },
    (values) => givenCount(values) === 1,
  );
}

/** An UPDATE; `changes` says the delay of a single row, and of the given ones. */
export function updating(
  build: Build,
  changes: (sql: TableSql, source: "single" | "given") => readonly Change[],
): Statement {
  return settling(build, {
    one: (sql) => `UPDATE ${sql.byId}
SET ${assigned(changes(sql, "single"))}
WHERE ${oursAlone(sql)}`,
    many: (sql) => `UPDATE ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}
SET ${assigned(changes(sql, "given"))}`,
    mayChangeNothing: true,
  });
}

/** The rows, gone. */
export function removing(build: Build): Statement {
  return settling(build, {
    // DELETE takes no alias on MariaDB before 11.6.
    one: (sql) => `DELETE FROM i USING ${sql.byId}
WHERE ${oursAlone(sql)}`,
    many: (sql) => `DELETE i FROM ${given(sql)} STRAIGHT_JOIN ${sql.byId} ON ${isGiven(sql)}`,
    mayChangeNothing: false,
  });
}

/** The statement, failing its transaction unless every given row is answered. */
export function orFail(statement: Statement, what: string): Statement {
  const { program } = statement;
  return programOf(program?.parts ?? [statement], function* (values) {
    const rows =
      program === undefined ? (yield bind(statement, values)).rows : yield* program.run(values);
    if (rows.length === givenCount(values)) return rows;
    throw new ClaimLost(
      `${what}: ${rows.length} of ${givenCount(values)}, the claim of the others is lost`,
    );
  });
}
