/**
 * A described table as SQL: its quoted names, its conditions, and the parameters of one statement. Every
 * statement is built with one of its own, as the parameters are numbered in the order of their use.
 */
import type { ColumnDescription, Role, TableDescription } from "../../table/description.ts";
import { tableLabel } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { instant, isoTime, literal, quoted } from "./sql.ts";
import { sqlTypes } from "./types.ts";

/** The quoted table, in two parts where there is a schema. */
export function tableName({ schema, name }: TableDescription): string {
  return schema === undefined ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
}

/** The columns that a table does not have to have; the id it has. */
export type OptionalRole = Exclude<Role, "id">;

export class TableSql {
  readonly table: TableDescription;
  /** The quoted table. */
  readonly name: string;
  /** The quoted id column. */
  readonly id: string;
  /** What a list of ids is cast to. */
  readonly idType: string;
  /** Their places by name: an insert of many rows has tens of thousands. */
  readonly #params = new Map<string, number>();

  /** @throws TypeError for a description without an id. */
  constructor(table: TableDescription) {
    const { id } = table.roles;
    if (id === undefined) throw new TypeError(`${tableLabel(table)} has no id column`);
    this.table = table;
    this.name = tableName(table);
    this.id = quoted(id.name);
    this.idType = sqlTypes[id.type];
  }

  /** The placeholder of a parameter, which takes its place at the first use. */
  param(name: string): string {
    const place = this.#params.get(name) ?? this.#params.size + 1;
    this.#params.set(name, place);
    return `$${place}`;
  }

  statement(text: string): Statement {
    return { text, params: [...this.#params.keys()] };
  }

  /** The column of a role, of the row called `alias`. */
  of(role: OptionalRole, alias = "i"): string | undefined {
    const column = this.table.roles[role];
    return column === undefined ? undefined : `${alias}.${quoted(column.name)}`;
  }

  /** The bare column of a role, as SET and INSERT have it. */
  column(role: OptionalRole): string | undefined {
    const column = this.table.roles[role];
    return column === undefined ? undefined : quoted(column.name);
  }

  /** One instant for the whole statement; see {@link instant}. */
  get now(): string {
    return this.#clock(instant);
  }

  /** A clock that goes on within a transaction, where {@link now} may stand still. */
  get clock(): string {
    return this.#clock("clock_timestamp()");
  }

  #clock(databases: string): string {
    return this.table.clock === "database" ? databases : `${this.param("now")}::text::timestamptz`;
  }

  /** The parameter `group` as a value of the group column, here or of another table. */
  groupValue(group: ColumnDescription): string {
    return cast(`${this.param("group")}::text`, group);
  }

  /** Not processed: the predicate of the table's partial indexes, word by word. */
  open(alias = "i"): string[] {
    const done = this.of("processedAt", alias);
    return done === undefined ? [] : [`${done} IS NULL`];
  }

  /** No lease holds it. */
  free(alias = "i"): string[] {
    const lease = this.of("lockedUntil", alias);
    return lease === undefined ? [] : [`(${lease} IS NULL OR ${lease} <= ${this.now})`];
  }

  /** Its time has come. */
  due(alias = "i"): string[] {
    const due = this.of("retryAfter", alias);
    return due === undefined ? [] : [`(${due} IS NULL OR ${due} <= ${this.now})`];
  }

  /** Claimable, its group aside. */
  claimable(alias = "i"): string[] {
    return [...this.open(alias), ...this.due(alias), ...this.free(alias)];
  }

  /** ORDER BY of rows whose place is selected as {@link placed}. */
  place(alias: string): string {
    const parts = [`${alias}.id`];
    if (this.ordersByDue) parts.unshift(`${alias}.due NULLS FIRST`);
    if (this.table.roles.priority !== undefined) parts.unshift(`${alias}.priority`);
    return parts.join(", ");
  }

  /** A row's place in the order, as columns to select. */
  placed(alias = "i"): string {
    const parts = [`${alias}.${this.id} AS id`];
    if (this.ordersByDue) parts.unshift(`${this.of("retryAfter", alias)} AS due`);
    const priority = this.of("priority", alias);
    if (priority !== undefined) parts.unshift(`${priority} AS priority`);
    return parts.join(", ");
  }

  get ordersByDue(): boolean {
    return this.table.roles.retryAfter !== undefined && this.table.fifo !== "strict";
  }

  /** The lease's end as the token that fences it: text that no session setting changes. */
  token(alias = "i"): string {
    const lease = this.of("lockedUntil", alias);
    return lease === undefined ? "NULL::text" : isoTime(`${lease}::timestamptz`);
  }

  /** A 64-bit hash for an advisory lock; the seed keeps the lock's kinds apart. */
  hash(key: string, seed: 0 | 1): string {
    return `hashtextextended(${literal(`${tableLabel(this.table)}.`)} || ${key}, ${seed})`;
  }
}

/** A text as a value of the column's type; text stays what it is. */
export function cast(text: string, { type }: ColumnDescription): string {
  return sqlTypes[type] === "text" ? text : `${text}::${sqlTypes[type]}`;
}

/** Conditions as one, true where there is none. */
export function all(...conditions: readonly (readonly string[] | string)[]): string {
  const list = conditions.flat();
  return list.length === 0 ? "true" : list.join(" AND ");
}
