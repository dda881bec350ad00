/**
 * A described table as SQL: its quoted names, its conditions, and the parameters of one statement. Every
 * statement is built with one of its own.
 */
import type { ColumnDescription, Role, TableDescription } from "../../table/description.ts";
import { tableLabel } from "../../table/description.ts";
import type { Statement, Values } from "../statement.ts";
import { givenText } from "./given.ts";
import { instant, later, quoted, sqlTime, time } from "./sql.ts";
import { types, WHOLE_64 } from "./types.ts";

/** The quoted table, in two parts where there is a schema: another database of the server. */
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
  readonly #idColumn: ColumnDescription;

  /** @throws TypeError for a description without an id. */
  constructor(table: TableDescription) {
    const { id } = table.roles;
    if (id === undefined) throw new TypeError(`${tableLabel(table)} has no id column`);
    this.table = table;
    this.name = tableName(table);
    this.id = quoted(id.name);
    this.#idColumn = id;
  }

  /** A parameter, whose place {@link statement} finds. A name holds no NUL. */
  param(name: string): string {
    return `\0${name}\0`;
  }

  statement(text: string): Statement {
    const params: string[] = [];
    const sent = text.replaceAll(/\0([^\0]*)\0/g, (_, name: string) => {
      params.push(name);
      return "?";
    });
    return { text: sent, params, made: MADE };
  }

  /**
   * The table as `i`, whose rows are found by their ids. By force: a table of a few rows the optimizer would
   * rather read as a whole, and a statement locks what it reads.
   */
  get byId(): string {
    return `${this.name} AS i FORCE INDEX (PRIMARY)`;
  }

  /** The column of a role, of the row called `alias`; bare where that is empty. */
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
    return this.table.clock === "database" ? instant : time(this.param("now"));
  }

  /** That many milliseconds from now. */
  later(ms: string): string {
    return later(this.now, ms);
  }

  get hasTextId(): boolean {
    return isTextual(this.#idColumn);
  }

  /** The type of ids that BIGINT may not hold: text would be compared with them as a floating point number. */
  get exactId(): string | undefined {
    const { type } = this.#idColumn;
    if (type === "decimal") return "DECIMAL(65, 30)";
    return type === "bigint" ? WHOLE_64 : undefined;
  }

  /** The parameter `id`, or another, as a value of the id column. */
  idValue(name = "id"): string {
    const { exactId } = this;
    if (exactId !== undefined) return `CAST(${this.param(name)} AS ${exactId})`;
    return types[this.#idColumn.type].write(this.param(name));
  }

  /**
   * The row is of the group that the parameter names. Where a collation takes two texts for one, as most do
   * with capitals, the bytes decide; the first condition is the index's.
   */
  inGroup(alias = "i"): string[] {
    const { group } = this.table.roles;
    if (group === undefined) return [];
    return this.isValue(group, "group", alias);
  }

  /** The same, asked again of a row that was found by its id: in words that no other index answers. */
  stillInGroup(): string[] {
    const { group } = this.table.roles;
    if (group === undefined) return [];
    const value = types[group.type].write(this.param("group"));
    const name = this.columnOf(group);
    return [isTextual(group) ? `${bytes(name)} = ${bytes(value)}` : `${name} + 0 = ${value}`];
  }

  isValue(column: ColumnDescription, param: string, alias = "i"): string[] {
    const name = this.columnOf(column, alias);
    const value = types[column.type].write(this.param(param));
    if (!isTextual(column)) return [`${name} = ${value}`];
    return [`${name} = ${value}`, `${bytes(name)} = ${bytes(value)}`];
  }

  /** The parameter `group`, or another, as a value of the group column, here or of another table. */
  groupValue({ type }: ColumnDescription, name = "group"): string {
    return types[type].write(this.param(name));
  }

  /** Not processed. */
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

/** Parameters that are not passed as they come. */
const MADE: NonNullable<Statement["made"]> = {
  // As text: a number would go as a floating point one, which LIMIT does not take.
  limit: ({ limit }) => String(limit),
  now: ({ now }) => (typeof now === "string" ? sqlTime(now) : now),
  given: givenText,
  keys: ({ keys }) => JSON.stringify(keys),
  id: (values) => values["id"] ?? only(values, "ids"),
  token: (values) => only(values, "tokens"),
  attempt: (values) => only(values, "attempts"),
  delay: (values) => String(only(values, "delaysMs")),
  reason: (values) => only(values, "reasons"),
};

/** The one element of a list. */
function only(values: Values, name: string): unknown {
  const list = values[name];
  return Array.isArray(list) ? list[0] : undefined;
}

export function isTextual({ type }: ColumnDescription): boolean {
  return type === "text" || type === "uuid" || type === "custom";
}

/** Text by its bytes: whatever a collation takes for one is told apart. */
export function bytes(text: string): string {
  return `CAST(CONVERT(${text} USING utf8mb4) AS BINARY)`;
}

/** Conditions as one, true where there is none. */
export function all(...conditions: readonly (readonly string[] | string)[]): string {
  const list = conditions.flat();
  return list.length === 0 ? "TRUE" : list.join(" AND ");
}
