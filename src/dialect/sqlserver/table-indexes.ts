/** The indexes that claims want: what creates each, and whether one that does its work is there. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal, longestName, quoted } from "./sql.ts";
import { tableName } from "./table-names.ts";

export interface TableIndex {
  readonly ddl: string;
  /** Answers one row, `present`. */
  readonly present: Statement;
}

export function tableIndexes(table: TableDescription): readonly TableIndex[] {
  return [...claimIndexes(table), ...primaryKey(table)];
}

/** Rows are locked by their ids: without an index, each such statement reads the table, and waits in it. */
function primaryKey(table: TableDescription): TableIndex[] {
  const { id } = table.roles;
  if (id === undefined) return [];
  return [
    {
      ddl: `ALTER TABLE ${tableName(table)} ADD PRIMARY KEY (${quoted(id.name)})`,
      present: presence(table, { suffix: "", columns: [id.name] }, " AND x.is_unique = 1"),
    },
  ];
}

export function claimIndexes(table: TableDescription): readonly TableIndex[] {
  return wanted(table).map((index) => ({
    ddl: createIndex(table, index),
    present: presence(table, index),
  }));
}

/** What an index is for, its columns in order, and which rows are in it. */
interface Wanted {
  readonly suffix: string;
  readonly columns: readonly string[];
  readonly where?: { readonly column: string; readonly is: "NULL" | "NOT NULL" };
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
  const name = `${table.name}${suffix}`.slice(-longestName.length);
  const condition = where === undefined ? "" : `\n  WHERE ${quoted(where.column)} IS ${where.is}`;
  return `IF NOT EXISTS (
  SELECT 1 FROM sys.indexes AS x WHERE x.object_id = OBJECT_ID(${literal(tableName(table))}) AND x.name = ${literal(name)}
)
CREATE INDEX ${quoted(name)}
  ON ${tableName(table)} (${columns.map(quoted).join(", ")})${condition}`;
}

/**
 * A btree, ascending, that begins with these columns, over all rows or over the wanted ones. The key of a table's
 * clustered index stands behind each other index by itself: what such an index does not spell may be its.
 */
function presence(table: TableDescription, { columns, where }: Wanted, more = ""): Statement {
  const id = table.roles.id?.name;
  const spelled = columns.length > 1 && columns.at(-1) === id ? columns.slice(0, -1) : columns;
  const at = (column: string, place: number) =>
    `SUM(CASE WHEN k.key_ordinal = ${place + 1} AND c.name = ${literal(column)} AND k.is_descending_key = 0 THEN 1 ELSE 0 END) = 1`;
  const begins = (names: readonly string[]) => names.map(at).join(" AND ");
  const predicate =
    where === undefined
      ? ""
      : ` OR x.filter_definition = ${literal(`(${quoted(where.column)} IS ${where.is})`)}`;
  const implied =
    spelled === columns
      ? ""
      : `\n  OR (${begins(spelled)} AND SUM(CASE WHEN k.key_ordinal > 0 THEN 1 ELSE 0 END) = ${spelled.length})`;
  return {
    text: `SELECT CASE WHEN EXISTS (
  SELECT x.index_id
  FROM sys.indexes AS x
  INNER JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id
  INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
  WHERE x.object_id = OBJECT_ID(${literal(tableName(table))})
    AND x.type IN (1, 2) AND x.is_disabled = 0${more}
    AND (x.has_filter = 0${predicate})
  GROUP BY x.index_id
  HAVING (${begins(columns)})${implied}
) THEN 1 ELSE 0 END AS present`,
    params: [],
  };
}
