/** Writing rows: one statement for many. */
import { randomUUID } from "node:crypto";
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import { bind } from "../bind.ts";
import type { InsertSettings } from "../dialect.ts";
import type { Statement, Values } from "../statement.ts";
import { later, literal, quoted } from "./sql.ts";
import { inTransaction } from "./table-given.ts";
import { TableSql, tableName } from "./table-names.ts";
import { types, variableTypes } from "./types.ts";

/**
 * Parameters r0c0, r0c1... r1c0...; answers `id` a row, in the rows' order: those that were given, or those that
 * the server has counted. A UUID that was not given is made here: OUTPUT says which ids there are, and not of
 * which row each is.
 *
 * @throws TypeError for several rows whose text ids are not given.
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
  if (at >= 0) return answering(inserting(table, columns, rows, options), rows, at, (same) => same);
  if (id.type === "uuid") {
    const made = inserting(table, [...columns, id], rows, options);
    return answering(made, rows, columns.length, (values) => {
      const ids = Array.from({ length: rows }, (_, r) => [`r${r}c${columns.length}`, randomUUID()]);
      return { ...values, ...Object.fromEntries(ids) };
    });
  }
  if (id.type === "text" && rows > 1) {
    throw new TypeError(
      `${table.name}: SQL Server does not say of which row each ${id.property} is that it has made; give them, or let it be a number that counts up`,
    );
  }
  if (columns.length === 0) return ofDefaults(table, rows);
  return inserting(table, columns, rows, options);
}

/** The ids are among the values. */
function answering(
  insert: Statement,
  rows: number,
  at: number,
  filled: (values: Values) => Values,
): Statement {
  return {
    ...insert,
    program: {
      parts: [insert],
      isSingle: () => true,
      *run(values) {
        const all = filled(values);
        yield bind(insert, all);
        return Array.from({ length: rows }, (_, r) => ({ id: all[`r${r}c${at}`] }));
      },
    },
  };
}

/**
 * Identities are counted in the order of an INSERT's ORDER BY, so their order is the rows'. An identity that is
 * given has to be allowed, and only where there is one.
 */
function inserting(
  table: TableDescription,
  columns: readonly ColumnDescription[],
  rows: number,
  { dueInMs = false }: InsertSettings,
): Statement {
  const sql = new TableSql(table);
  const { id, retryAfter } = table.roles;
  const cell = (column: ColumnDescription, param: string) =>
    dueInMs && column === retryAfter
      ? later(sql.now, `CAST(${param} AS decimal(30, 3))`)
      : types[column.type].write(param);
  const values = Array.from({ length: rows }, (_, r) => {
    const cells = columns.map((column, c) => cell(column, sql.param(`r${r}c${c}`)));
    return `(${[r, ...cells].join(", ")})`;
  });
  const names = columns.map(({ name }) => quoted(name)).join(", ");
  const given = columns.map((_, c) => `v.c${c}`);
  const isCounted = id !== undefined && !columns.includes(id);
  const insert = `INSERT INTO ${sql.name} (${names})${isCounted ? `\nOUTPUT inserted.${sql.id} INTO @made (id)` : ""}
SELECT ${given.join(", ")}
FROM (VALUES
  ${values.join(",\n  ")}
) AS v (n, ${columns.map((_, c) => `c${c}`).join(", ")})
ORDER BY v.n;`;
  if (isCounted) return sql.statement(answeringMade(sql, insert));
  const mayCount = id !== undefined && id.generated !== "never" && isWhole(id.type);
  if (!mayCount) return sql.statement(insert);
  const isIdentity = `IF EXISTS (SELECT 1 FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(${literal(tableName(table))}) AND c.is_identity = 1)`;
  return sql.statement(`${isIdentity} SET IDENTITY_INSERT ${sql.name} ON;
BEGIN TRY
${insert}
END TRY
BEGIN CATCH
${isIdentity} SET IDENTITY_INSERT ${sql.name} OFF;
THROW;
END CATCH;
${isIdentity} SET IDENTITY_INSERT ${sql.name} OFF;`);
}

/** Rows of nothing but defaults, which only a statement each can write. */
function ofDefaults(table: TableDescription, rows: number): Statement {
  const sql = new TableSql(table);
  const each = `INSERT INTO ${sql.name}
OUTPUT inserted.${sql.id} INTO @made (id)
DEFAULT VALUES;`;
  const statement = sql.statement(answeringMade(sql, Array(rows).fill(each).join("\n")));
  return inTransaction(statement, () => rows === 1);
}

function answeringMade(sql: TableSql, insert: string): string {
  const { type } = sql.idColumn;
  return `DECLARE @made TABLE (id ${variableTypes[type]} NOT NULL);
${insert}
SELECT ${types[type].read("m.id")} AS id
FROM @made AS m
ORDER BY m.id;`;
}

export function isWhole(type: ColumnDescription["type"]): boolean {
  return type === "bigint" || type === "integer" || type === "smallint";
}
