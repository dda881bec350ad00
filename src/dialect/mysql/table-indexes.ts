/** The indexes that claims want: what creates each, and whether one that does its work is there. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal, longestName, quoted } from "./sql.ts";
import { tableName } from "./table-names.ts";

export interface TableIndex {
  /** What it is for, and its columns in order. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly ddl: string;
  /** Answers one row, `present`. */
  readonly present: Statement;
}

export function tableIndexes(table: TableDescription): readonly TableIndex[] {
  return [...claimIndexes(table), ...primaryKey(table)];
}

/** Rows are locked by their ids, and found by the primary key. */
function primaryKey(table: TableDescription): TableIndex[] {
  const { name, roles, schema } = table;
  const { id } = roles;
  if (id === undefined) return [];
  return [
    {
      name: "PRIMARY",
      columns: [id.name],
      ddl: `ALTER TABLE ${tableName(table)} ADD PRIMARY KEY (${quoted(id.name)})`,
      present: {
        text: `SELECT EXISTS (
  SELECT 1
  FROM information_schema.STATISTICS AS s
  WHERE s.TABLE_SCHEMA = ${schema === undefined ? "DATABASE()" : literal(schema)} AND s.TABLE_NAME = ${literal(name)}
    AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1 AND s.COLUMN_NAME = ${literal(id.name)}
) AS present`,
        params: [],
      },
    },
  ];
}

/** Those that a CREATE TABLE gives names to. */
export function claimIndexes(table: TableDescription): readonly TableIndex[] {
  return wanted(table).map(({ columns, suffix }) => {
    const name = `${table.name}${suffix}`.slice(-longestName.length);
    return {
      name,
      columns,
      ddl: `CREATE INDEX ${quoted(name)}\n  ON ${tableName(table)} (${columns.map(quoted).join(", ")})`,
      present: presence(table, columns),
    };
  });
}

interface Wanted {
  readonly suffix: string;
  readonly columns: readonly string[];
}

/** There are no partial indexes here: whether a row is processed stands before what orders it. */
function wanted({ fifo, roles }: TableDescription): Wanted[] {
  const { group, id, lockedUntil, priority, processedAt, retryAfter } = roles;
  const order = [group, processedAt, priority, fifo === "strict" ? undefined : retryAfter, id]
    .filter((column) => column !== undefined)
    .map(({ name }) => name);
  const indexes: Wanted[] = [];
  // The primary key serves what is ordered by its id alone.
  if (order.length > 1) indexes.push({ suffix: "_claim_idx", columns: order });
  if (fifo !== "none" && group !== undefined && lockedUntil !== undefined) {
    indexes.push({ suffix: "_lease_idx", columns: [group.name, lockedUntil.name] });
  }
  return indexes;
}

/** An index, ascending, that begins with these columns. The primary key stands behind each by itself. */
function presence(
  { name, roles, schema }: TableDescription,
  columns: readonly string[],
): Statement {
  const spelled = columns.at(-1) === roles.id?.name ? columns.slice(0, -1) : columns;
  const at = columns.map(
    (column, place) =>
      `SUM(s.SEQ_IN_INDEX = ${place + 1} AND s.COLUMN_NAME = ${literal(column)} AND COALESCE(s.COLLATION, 'A') = 'A' AND s.SUB_PART IS NULL) = 1`,
  );
  const isWhole = at.join("\n    AND ");
  const isImplied = `${at.slice(0, spelled.length).join("\n    AND ")}
    AND COUNT(*) = ${spelled.length}`;
  return {
    text: `SELECT EXISTS (
  SELECT s.INDEX_NAME
  FROM information_schema.STATISTICS AS s
  WHERE s.TABLE_SCHEMA = ${schema === undefined ? "DATABASE()" : literal(schema)} AND s.TABLE_NAME = ${literal(name)}
  GROUP BY s.INDEX_NAME
  HAVING (${isWhole})${spelled === columns ? "" : `\n    OR (${isImplied})`}
) AS present`,
    params: [],
  };
}
