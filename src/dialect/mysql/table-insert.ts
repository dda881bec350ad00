/** Writing rows: one statement for many. Neither server says by itself which ids it has made. */
import { randomUUID } from "node:crypto";
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { InsertSettings } from "../dialect.ts";
import type { ProgramRun, Statement, Values } from "../statement.ts";
import { quoted } from "./sql.ts";
import { isTextual, TableSql } from "./table-names.ts";
import { programOf } from "./table-program.ts";
import { types } from "./types.ts";

/**
 * Parameters r0c0, r0c1... r1c0...; answers `id` a row, in the rows' order: those that were given, or those that
 * the server has counted. A UUID that was not given is made here, as nobody could ask for it later.
 *
 * @throws TypeError for a text id that is not given.
 */
export function insertStatement(
  table: TableDescription,
  columns: readonly ColumnDescription[],
  rows: number,
  options: InsertSettings = {},
): Statement {
  const { id } = table.roles;
  if (id === undefined) return inserting(table, columns, rows, options);
  const at = columns.indexOf(id);
  if (at >= 0) return answering(inserting(table, columns, rows, options), rows, at);
  if (!isTextual(id)) return counting(inserting(table, columns, rows, options), rows);
  if (id.type !== "uuid") {
    throw new TypeError(
      `${table.name}: MySQL does not say which ${id.property} it has made for a row; give one, or let it be a number that counts up`,
    );
  }
  const insert = inserting(table, [...columns, id], rows, options);
  const made = answering(insert, rows, columns.length);
  return programOf(
    [insert],
    (values) => run(made, withIds(values, rows, columns.length)),
    () => true,
  );
}

function run({ program }: Statement, values: Values): ProgramRun {
  if (program === undefined) throw new TypeError("an insert that answers ids is a program");
  return program.run(values);
}

function withIds(values: Values, rows: number, at: number): Values {
  const ids = Array.from({ length: rows }, (_, r) => [`r${r}c${at}`, randomUUID()]);
  return { ...values, ...Object.fromEntries(ids) };
}

/** The ids are among the values. */
function answering(insert: Statement, rows: number, at: number): Statement {
  return programOf(
    [insert],
    function* (values) {
      yield bind(insert, values);
      return Array.from({ length: rows }, (_, r) => ({ id: values[`r${r}c${at}`] }));
    },
    () => true,
  );
}

const COUNTED: Statement = {
  text: "SELECT CAST(LAST_INSERT_ID() AS CHAR) AS id, @@auto_increment_increment AS step",
  params: [],
};

/** A statement whose rows are known numbers them in one go, whatever the lock mode of the counter. */
function counting(insert: Statement, rows: number): Statement {
  return programOf([insert, COUNTED], function* (values) {
    yield bind(insert, values);
    const { rows: answers } = yield bind(COUNTED, {});
    const first = BigInt(String(answers[0]?.["id"] ?? 0));
    const step = BigInt(String(answers[0]?.["step"] ?? 1));
    return Array.from({ length: rows }, (_, r) => ({ id: String(first + step * BigInt(r)) }));
  });
}

function inserting(
  table: TableDescription,
  columns: readonly ColumnDescription[],
  rows: number,
  { dueInMs = false }: InsertSettings,
): Statement {
  const sql = new TableSql(table);
  const { retryAfter } = table.roles;
  const cell = (column: ColumnDescription, param: string) =>
    dueInMs && column === retryAfter
      ? sql.later(`CAST(${param} AS DECIMAL(30, 3))`)
      : types[column.type].write(param);
  const values = Array.from({ length: rows }, (_, r) => {
    const cells = columns.map((column, c) => cell(column, sql.param(`r${r}c${c}`)));
    return `(${cells.join(", ")})`;
  });
  return sql.statement(`INSERT INTO ${sql.name} (${columns.map(({ name }) => quoted(name)).join(", ")})
VALUES ${values.join(",\n  ")}`);
}
