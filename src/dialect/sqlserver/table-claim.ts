/**
 * What the claims of all forms have in common: whose rows, and what a claimed row looks like.
 *
 * A claim reads the first rows of its order without keeping a lock on any, and then takes them one by one, by
 * their ids, until it has as many as it wants: so it locks no row but those it takes, whatever plan the optimizer
 * finds. A locking read of the order itself would lock every row that it sorts. Rows are looked at again under
 * their locks. Where all rows of a first window are others', it reads once more, much further.
 */
import type { ColumnDescription, TableDescription } from "../../table/description.ts";
import type { ClaimSettings } from "../dialect.ts";
import { literal } from "./sql.ts";
import type { TableSql } from "./table-names.ts";
import { types } from "./types.ts";

/** How many rows a claim looks at first, and how many where those were not enough. */
export function windows({ mostRows }: ClaimSettings): readonly [near: number, far: number] {
  const near = 2 * mostRows + 20;
  return [near, Math.max(5_000, 10 * near)];
}

/** The group's rows, or everybody's. */
export function ofGroup(sql: TableSql, { groups }: ClaimSettings, alias = "i"): string[] {
  return groups === "one" ? sql.inGroup(alias) : [];
}

/** The same of a row that was found by its id. */
export function stillOfGroup(sql: TableSql, { groups }: ClaimSettings, alias = "i"): string[] {
  return groups === "one" ? sql.stillInGroup(alias) : [];
}

/** A column of what is claimed, its type in the table variable, and how it is read. */
interface Cell {
  readonly name: string;
  readonly type: string;
  readonly value: string;
}

/**
 * What a claim answers of the row called `alias`: `inserted`, where the claim writes it. The lease's end goes
 * through as text, so that no digit of it is lost.
 */
function cells(sql: TableSql, { columns }: ClaimSettings, alias: string): readonly Cell[] {
  const { attempt, group, lockedUntil } = sql.table.roles;
  const text = (column: ColumnDescription | undefined) =>
    column === undefined ? "NULL" : sql.text(column, alias);
  return [
    { name: "id", type: "nvarchar(4000)", value: sql.idText(alias) },
    { name: "token", type: "nvarchar(40)", value: text(lockedUntil) },
    { name: "attempt", type: "nvarchar(20)", value: text(attempt) },
    { name: "[group]", type: "nvarchar(4000)", value: text(group) },
    { name: "[key]", type: "nvarchar(max)", value: keyOf(sql, alias) },
    ...columns.map((column, index) => ({
      name: `c${index}`,
      type: column.type === "bytes" ? "varbinary(max)" : "nvarchar(max)",
      value: types[column.type].read(sql.columnOf(column, alias)),
    })),
  ];
}

/** The table variable of claimed rows; `held` is the id as the column has it. */
export function declareClaimed(sql: TableSql, settings: ClaimSettings, more = ""): string {
  const declared = cells(sql, settings, "i").map(({ name, type }) => `${name} ${type} NULL`);
  return `DECLARE @claimed TABLE (turn int NOT NULL, held ${sql.idType} NULL, ${declared.join(", ")}${more});`;
}

/** The columns of `@claimed`, and the expressions that fill them. */
export function claimedCells(
  sql: TableSql,
  settings: ClaimSettings,
  { alias, turn }: { readonly alias: string; readonly turn: string },
): { readonly names: string; readonly values: string } {
  const all = cells(sql, settings, alias);
  return {
    names: ["turn", "held", ...all.map(({ name }) => name)].join(", "),
    values: [turn, `${alias}.${sql.id}`, ...all.map(({ value }) => value)].join(",\n  "),
  };
}

/** The claimed rows in their order, with what else is said of them. */
export function answerClaimed(
  sql: TableSql,
  settings: ClaimSettings,
  { more = "", order = "t.turn" }: { readonly more?: string; readonly order?: string } = {},
): string {
  const names = cells(sql, settings, "i").map(({ name }) => `t.${name}`);
  return `SELECT ${names.join(", ")}${more}
FROM @claimed AS t
ORDER BY ${order};`;
}

/** What rows share that wait for each other, as text. */
function keyOf(sql: TableSql, alias: string): string {
  const { table } = sql;
  if (table.lockKey !== undefined) return lockKey(sql, alias);
  const column = table.roles[table.fifo === "none" ? "partitionKey" : "group"];
  return column === undefined ? "NULL" : sql.text(column, alias);
}

/** The key of an advisory lock, of the row called `alias`: the same text whatever the session's settings are. */
export function lockKey(sql: TableSql, alias: string): string {
  const { lockKey: parts = [] }: TableDescription = sql.table;
  const texts = parts.map((part) =>
    "text" in part ? literal(part.text) : `COALESCE(${keyText(sql, part.column, alias)}, N'')`,
  );
  if (texts.length < 2) return texts[0] ?? "N''";
  return `CONCAT(${texts.join(", ")})`;
}

/** Text by one collation: columns of two cannot stand in one CONCAT (Msg 451). */
function keyText(sql: TableSql, column: ColumnDescription, alias: string): string {
  const text = sql.text(column, alias);
  switch (column.type) {
    case "bytes":
      return `LOWER(CONVERT(nvarchar(max), ${text}, 2))`;
    case "text":
    case "json":
    case "custom":
      return `${text} COLLATE Latin1_General_BIN2`;
    default:
      return text;
  }
}
