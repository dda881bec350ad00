/**
 * A described table as SQL: its quoted names, its conditions, and the parameters of one statement. Every
 * statement is built with one of its own.
 */
import type { ColumnDescription, Role, TableDescription } from "../../table/description.ts";
import { tableLabel } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { instant, later, quoted } from "./sql.ts";
import { sqlTypes } from "./types.ts";

/** The quoted table, in two parts where there is a schema: of an attached database. */
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

  /** @throws TypeError for a description without an id. */
  constructor(table: TableDescription) {
    const { id } = table.roles;
    if (id === undefined) throw new TypeError(`${tableLabel(table)} has no id column`);
    this.table = table;
    this.name = tableName(table);
    this.id = quoted(id.name);
  }

  /**
   * A parameter, whose place {@link statement} finds. Not `?1`: some drivers take that for a name, and a
   * plain `?` says nothing of the order in which a statement was put together. A name holds no NUL.
   */
  param(name: string): string {
    return `\0${name}\0`;
  }

  statement(text: string): Statement {
    const params: string[] = [];
    const sent = text.replaceAll(/\0([^\0]*)\0/g, (_, name: string) => {
      params.push(name);
      return "?";
    });
    return { text: sent, params };
  }

  /** The column of a role, of the row called `alias`; bare where that is empty, as RETURNING has it. */
  of(role: OptionalRole, alias = "i"): string | undefined {
    const column = this.table.roles[role];
    return column === undefined ? undefined : this.columnOf(column, alias);
  }

  columnOf({ name }: ColumnDescription, alias = "i"): string {
    return alias === "" ? quoted(name) : `${alias}.${quoted(name)}`;
  }

  /** The bare column of a role, as SET and INSERT have it. */
  column(role: OptionalRole): string | undefined {
    return this.of(role, "");
  }

  /** One instant for the whole statement. */
  get now(): string {
    return this.table.clock === "database" ? instant : this.param("now");
  }

  /** That many milliseconds from now. */
  later(ms: string): string {
    return later(this.table.clock === "database" ? "'now'" : this.param("now"), ms);
  }

  /** The parameter `group`, or another, as a value of the group column, here or of another table. */
  groupValue(group: ColumnDescription, name = "group"): string {
    return cast(this.param(name), group);
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

  get ordersByDue(): boolean {
    return this.table.roles.retryAfter !== undefined && this.table.fifo !== "strict";
  }
}

/** A parameter, or an element of a list, as a value of the column's type. */
export function cast(text: string, { type }: ColumnDescription): string {
  return `CAST(${text} AS ${sqlTypes[type]})`;
}

/** Conditions as one, true where there is none. */
export function all(...conditions: readonly (readonly string[] | string)[]): string {
  const list = conditions.flat();
  return list.length === 0 ? "true" : list.join(" AND ");
}
