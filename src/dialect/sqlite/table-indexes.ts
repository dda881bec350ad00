/** The indexes that claims want: what creates each, and whether one that does its work is there. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal, quoted } from "./sql.ts";

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

/** An index lies in the database of its table, whose name is said with the index's. */
function createIndex(table: TableDescription, { columns, suffix, where }: Wanted): string {
  const name = quoted(`${table.name}${suffix}`);
  const qualified = table.schema === undefined ? name : `${quoted(table.schema)}.${name}`;
  const condition = where === undefined ? "" : `\n  WHERE ${quoted(where.column)} IS ${where.is}`;
  return `CREATE INDEX IF NOT EXISTS ${qualified}
  ON ${quoted(table.name)} (${columns.map(quoted).join(", ")})${condition}`;
}

/** An index, ascending, that begins with these columns, over all rows or over the wanted ones. */
function presence(table: TableDescription, { columns, where }: Wanted): Statement {
  const { name, schema = "main" } = table;
  const isWhole = "l.partial = 0";
  const spelled = (text: string) =>
    `replace(replace(replace(replace(${text}, '"', ''), ' ', ''), char(10), ''), ';', '')`;
  const covers =
    where === undefined
      ? isWhole
      : `(${isWhole} OR EXISTS (
      SELECT 1 FROM ${quoted(schema)}.sqlite_schema AS s
      WHERE s.type = 'index' AND s.name = l.name
        AND ${spelled("s.sql")} LIKE '%WHERE' || ${spelled(literal(`${where.column}IS${where.is}`))}
    ))`;
  const fits = columns.map(
    (column, place) => `EXISTS (
      SELECT 1 FROM pragma_index_xinfo(l.name, ${literal(schema)}) AS x
      WHERE x.seqno = ${place} AND x.name = ${literal(column)} COLLATE NOCASE AND x."desc" = 0
    )`,
  );
  return {
    text: `SELECT EXISTS (
  SELECT 1
  FROM pragma_index_list(${literal(name)}, ${literal(schema)}) AS l
  WHERE ${[...fits, covers].join("\n    AND ")}
) AS present`,
    params: [],
  };
}
