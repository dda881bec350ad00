/**
 * A described table as SQL: its quoted names, its conditions, and the parameters and variables of one batch.
 * Every batch is built with one of its own.
 *
 * Values stand in variables that the batch declares, each of its column's type: a parameter's type is the
 * driver's to choose, and an index serves only what has the type (and, of text, gives way to the collation) of
 * its column. Variables and parameters do; a column of OPENJSON or of a table variable has the collation of the
 * database, and comparing it with another column's fails (Msg 468). So rows in hand are looked up one by one,
 * each by a variable: at most one row has the id, which the server finds in the primary key.
 */
import type { ColumnDescription, Role, TableDescription } from "../../table/description.ts";
import { tableLabel } from "../../table/description.ts";
import type { Statement, Values } from "../statement.ts";
import { givenText, namedText } from "./given.ts";
import {
  instant,
  later,
  literal,
  now,
  placeholder,
  quoted,
  sqlTime,
  time,
  valuesText,
} from "./sql.ts";
import { types, variableTypes } from "./types.ts";

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
  readonly idColumn: ColumnDescription;
  readonly #declared = new Map<string, string>();

  /** @throws TypeError for a description without an id. */
  constructor(table: TableDescription) {
    const { id } = table.roles;
    if (id === undefined) throw new TypeError(`${tableLabel(table)} has no id column`);
    this.table = table;
    this.name = tableName(table);
    this.id = quoted(id.name);
    this.idColumn = id;
  }

  /** A parameter, whose place {@link statement} finds. A name holds no NUL. */
  param(name: string): string {
    return `\0${name}\0`;
  }

  /** A variable that the batch begins with; its name is no parameter's. */
  variable(name: string, type: string, value: string): string {
    this.#declared.set(name, `DECLARE @${name} ${type} = ${value};`);
    return `@${name}`;
  }

  /**
   * The batch. It counts no rows for the driver: what it says are rows, and a loop would say a count a turn. Like
   * every SET that ends with a batch that has parameters; another would leave it to the session.
   */
  statement(text: string): Statement {
    const params: string[] = [];
    const sent = [...this.#declared.values(), text]
      .join("\n")
      .replaceAll(/\0([^\0]*)\0/g, (_, name: string) => {
        if (!params.includes(name)) params.push(name);
        return placeholder(params.indexOf(name) + 1);
      });
    return { text: params.length === 0 ? sent : `SET NOCOUNT ON;\n${sent}`, params, made: MADE };
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

  /** One instant for the whole batch. */
  get now(): string {
    const { clock } = this.table;
    return this.variable(
      now.slice(1),
      "datetime2(7)",
      clock === "database" ? instant : time(this.param("now")),
    );
  }

  /** That many milliseconds from now. */
  later(ms: string): string {
    return later(this.now, ms);
  }

  get limit(): string {
    return this.variable("limit", "int", `CAST(${this.param("limit")} AS int)`);
  }

  /** The type of a variable that an id stands in. */
  get idType(): string {
    return variableTypes[this.idColumn.type];
  }

  /** The id of a row as text: what the library knows it by. */
  idText(alias = "i"): string {
    return this.text(this.idColumn, alias);
  }

  /** A column as text. */
  text(column: ColumnDescription, alias = "i"): string {
    return types[column.type].read(this.columnOf(column, alias));
  }

  /** The parameter `group`, or another, as a value of the group column, here or of another table. */
  groupValue({ type }: ColumnDescription, name = "group"): string {
    return this.variable(name, variableTypes[type], types[type].write(this.param(name)));
  }

  /** The row is of the group that the parameter names. */
  inGroup(alias = "i"): string[] {
    const { group } = this.table.roles;
    return group === undefined ? [] : this.isValue(group, this.groupValue(group), alias);
  }

  /** The same, asked again of a row that was found by its id: in words that no other index answers. */
  stillInGroup(alias = "i"): string[] {
    const { group } = this.table.roles;
    if (group === undefined) return [];
    return [this.stillIs(group, this.groupValue(group), alias)];
  }

  stillIs(column: ColumnDescription, value: string, alias = "i"): string {
    const name = this.columnOf(column, alias);
    return column.type === "text" ? isExactly(name, value) : `${name} = ${value}`;
  }

  /** Where a collation takes two texts for one, as most do with capitals, the second condition decides. */
  isValue(column: ColumnDescription, value: string, alias = "i"): string[] {
    const name = this.columnOf(column, alias);
    if (column.type !== "text") return [`${name} = ${value}`];
    return [`${name} = ${value}`, isExactly(name, value)];
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

  /** What names the table among application locks, which are the database's. */
  get lockPrefix(): string {
    const { name, schema } = this.table;
    return literal(`intray ${schema === undefined ? name : `${schema}.${name}`}/`);
  }
}

/** Parameters that are not passed as they come: numbers as text, as the driver would choose a type for each. */
const MADE: NonNullable<Statement["made"]> = {
  limit: ({ limit }) => String(limit),
  leaseMs: ({ leaseMs }) => String(Math.ceil(Number(leaseMs))),
  olderThanMs: ({ olderThanMs }) => String(Math.ceil(Number(olderThanMs))),
  now: ({ now: iso }) => (typeof iso === "string" ? sqlTime(iso) : iso),
  given: givenText,
  named: namedText,
  keys: ({ keys }) => valuesText(Array.isArray(keys) ? keys.map(String) : []),
  id: (values) => values["id"] ?? only(values, "ids"),
};

/** The one element of a list. */
function only(values: Values, name: string): unknown {
  const list = values[name];
  return Array.isArray(list) ? list[0] : undefined;
}

/**
 * Two texts are the same, unit by unit. A comparison takes no notice of spaces at the end, whatever the
 * collation: so there is something behind them.
 */
export function isExactly(one: string, other: string): string {
  return `(CONVERT(nvarchar(max), ${one}) + N'|') COLLATE Latin1_General_BIN2 = ${other} + N'|'`;
}

/** Conditions as one, true where there is none. */
export function all(...conditions: readonly (readonly string[] | string)[]): string {
  const list = conditions.flat();
  return list.length === 0 ? "1 = 1" : list.join(" AND ");
}
