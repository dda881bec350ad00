/** The indexes that claims want: what creates each, and whether one that does its work is there. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { fitted, literal, quoted } from "./sql.ts";
import { tableName } from "./table-names.ts";

export interface TableIndex {
  readonly ddl: string;
  /** Answers one row, `present`. */
  readonly present: Statement;
}

/** What an index is for, its columns in order, and which rows are in it. */
interface Wanted {
  readonly suffix: string;
  readonly columns: readonly string[];
  readonly where?: { readonly column: string; readonly is: "NULL" | "NOT NULL" };
}

export function tableIndexes(table: TableDescription): readonly TableIndex[] {
  return wanted(table).map((index) => ({
    ddl: createIndex(table, index),
    present: presence(table, index),
  }));
}

function wanted({ fifo, roles }: TableDescription): Wanted[] {
  const { group, id, lockedUntil, priority, processedAt, retryAfter } = roles;
  const order = [group, priority, fifo === "strict" ? undefined : retryAfter, id]
    .filter((column) => column !== undefined)
    .map(({ name }) => name);
  const indexes: Wanted[] = [];
  // The primary key serves what is ordered by its id alone.
  if (order.length > 1 || processedAt !== undefined) {
    const where = processedAt && ({ column: processedAt.name, is: "NULL" } as const);
    indexes.push({ suffix: "_claim_idx", columns: order, ...(where && { where }) });
  }
  if (fifo !== "none" && group !== undefined && lockedUntil !== undefined) {
    indexes.push({
      suffix: "_lease_idx",
      columns: [group.name, lockedUntil.name],
      where: { column: lockedUntil.name, is: "NOT NULL" },
    });
  }
  return indexes;
}

function createIndex(table: TableDescription, { columns, suffix, where }: Wanted): string {
  const condition = where === undefined ? "" : `\n  WHERE ${quoted(where.column)} IS ${where.is}`;
  return `CREATE INDEX IF NOT EXISTS ${quoted(fitted(table.name, suffix))}
  ON ${tableName(table)} (${columns.map(quoted).join(", ")})${condition}`;
}

/** A valid btree, ascending, that begins with these columns, over all rows or over the wanted ones. */
function presence(table: TableDescription, { columns, where }: Wanted): Statement {
  const predicate =
    where === undefined
      ? "false"
      : `regexp_replace(pg_get_expr(x.indpred, x.indrelid), '[()"[:space:]]', '', 'g') = ${literal(
          `${where.column}IS${where.is}`.replaceAll(/[()"\s]/g, ""),
        )}`;
  return {
    text: `SELECT EXISTS (
  SELECT 1
  FROM pg_index AS x
  JOIN pg_class AS c ON c.oid = x.indexrelid
  JOIN pg_am AS am ON am.oid = c.relam
  WHERE x.indrelid = to_regclass(${literal(tableName(table))})
    AND x.indisvalid AND x.indisready AND x.indislive AND am.amname = 'btree'
    AND ARRAY[${columns.map(literal).join(", ")}]::text[] = ARRAY(
      SELECT a.attname::text
      FROM unnest(x.indkey::int2[], x.indoption::int2[]) WITH ORDINALITY AS k (attnum, options, position)
      JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
      WHERE k.position <= ${columns.length} AND k.options = 0
      ORDER BY k.position
    )
    AND (x.indpred IS NULL OR ${predicate})
) AS present`,
    params: [],
  };
}
