import type { TableAdministration } from "../dialect/administration.ts";
import { bind } from "../dialect/bind.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { dialectNamed } from "../dialect/dialects.ts";
import type { Statement } from "../dialect/statement.ts";
import { TableError } from "../errors.ts";
import { isObject, shown } from "../options.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import type { QueueDescription } from "../table/queue.ts";
import { columnFault, type InspectedColumn } from "./column-faults.ts";
import { isDialect } from "./dialect-of.ts";
import { type Executor, executorOf, type Writable } from "./executor.ts";
import type { DescribedTable } from "./types.ts";

/** A queue, or all rows of a table. */
export type RowsOf = QueueDescription | DescribedTable;

/** How a table is reached, where its connection does not tell. */
export interface AdminOptions {
  /** The database's dialect, or its name. Default: as the connection tells. */
  readonly dialect?: Dialect | string;
}

/** Rows of one table, and of one of its groups where that was named. */
export interface Place {
  readonly table: TableDescription;
  /** Undefined: all groups, or a table without. */
  readonly group: string | undefined;
}

/** @throws TypeError for what is neither a queue nor a described table. */
export function placeOf(of: unknown): Place {
  if (isObject(of) && isTable(of.table) && typeof of.groups === "string") {
    return { table: of.table, group: typeof of.group === "string" ? of.group : undefined };
  }
  if (isObject(of) && isTable(of.description)) return { table: of.description, group: undefined };
  throw new TypeError(`this takes a queue or a described table, not ${shown(of)}`);
}

function isTable(value: unknown): value is TableDescription {
  return isObject(value) && Array.isArray(value.columns) && isObject(value.roles);
}

/** A table's administration on one connection: the dialect's statements, run one by one. */
export class TableAdmin {
  readonly table: TableDescription;
  readonly statements: TableAdministration;
  readonly dialect: Dialect;
  readonly #executor: Executor;
  readonly #looked = new Map<TableDescription, Promise<void>>();

  /** @throws TypeError or TableError where nobody knows how to reach the table. */
  constructor(conn: Writable, table: TableDescription, { dialect }: AdminOptions = {}) {
    this.#executor = executorOf(conn);
    this.table = table;
    this.dialect = resolved(table, dialect ?? this.#executor.database);
    const { admin, name } = this.dialect;
    if (admin === undefined) {
      throw new TableError(
        `${tableLabel(table)}: the dialect ${name} has no statements to manage rows with (its member "admin")`,
      );
    }
    checkNames(table, this.dialect);
    this.statements = admin;
  }

  /**
   * Runs a statement by itself; the time goes with it where the table's clock is not the database's.
   *
   * @throws SchemaError where the session would misread a column, such as a time of another zone.
   */
  async ask<Row>(
    statement: Statement,
    values: Values,
    on: Executor = this.#executor,
  ): Promise<Row[]> {
    await this.look(this.table, on);
    return await this.#run<Row>(statement, values, on);
  }

  /**
   * Looks at the columns of a table that rows are read from, or moved into, once.
   *
   * @throws SchemaError as {@link ask} does.
   */
  async look(table: TableDescription, on: Executor = this.#executor): Promise<void> {
    const looked =
      this.#looked.get(table) ??
      this.#look(table, on).catch((error: unknown) => {
        this.#looked.delete(table);
        throw error;
      });
    this.#looked.set(table, looked);
    await looked;
  }

  async #look(table: TableDescription, on: Executor): Promise<void> {
    const { columns, name, schema } = table;
    const inspect = this.dialect.inspection.columns(table);
    const values = { schema: schema ?? null, table: name };
    const found = await this.#run<InspectedColumn>(inspect, values, on);
    const fault = columnFault(
      table,
      found,
      columns.map((column) => column.name),
    );
    if (fault !== undefined) throw fault;
  }

  async #run<Row>(statement: Statement, values: Values, on: Executor): Promise<Row[]> {
    const { clock } = this.table;
    const now = (typeof clock === "function" ? clock() : new Date()).toISOString();
    const begin = this.dialect.beginShort;
    const step = bind(statement, { ...values, now });
    const [result] = await on.run([{ ...step, prepare: false }], begin);
    // What the rows hold is the statement's to say.
    return (result?.rows ?? []) as Row[];
  }

  /**
   * Runs a statement that changes those of the rows that nobody works, and answers their ids.
   *
   * @throws TypeError where nobody can tell which they are.
   */
  async change(statement: Statement, ids: readonly string[], values: Values): Promise<string[]> {
    const run = async (on: Executor, some: readonly string[]) => {
      const given = { ...values, ids: this.dialect.list(some) };
      return (await this.ask<{ id: string }>(statement, given, on)).map(({ id }) => id);
    };
    const { form, custom } = this.table;
    const keys = this.statements.keys?.(this.table);
    // Which keys an event of the service's own has locked, only the service knows.
    if (keys === undefined || form !== "advisoryLock" || custom?.lock !== undefined) {
      return await run(this.#executor, ids);
    }
    const none = new TypeError(
      `${tableLabel(this.table)}: its rows are held by locks of a connection, and this one has none: pass the connection source`,
    );
    const { locking } = this.#executor;
    if (locking === undefined) throw none;
    return await locking(async (on, locks) => {
      if (locks === undefined) throw none;
      const rows = await this.ask<KeyedRow>(keys, { ids: this.dialect.list(ids) }, on);
      const locked = new Set<string>();
      try {
        for (const key of new Set(rows.map((row) => row.key))) {
          if (await locks.tryLock(key)) locked.add(key);
        }
        const free = rows.filter(({ key }) => locked.has(key)).map(({ id }) => id);
        return free.length === 0 ? [] : await run(on, free);
      } finally {
        for (const key of locked) await locks.unlock(key);
      }
    });
  }
}

type Values = Readonly<Record<string, unknown>>;

interface KeyedRow {
  readonly id: string;
  readonly key: string;
}

function resolved(table: TableDescription, dialect: Dialect | string | undefined): Dialect {
  if (typeof dialect === "string") return dialectNamed(dialect);
  if (isDialect(dialect)) return dialect;
  throw new TypeError(
    `${tableLabel(table)}: the connection does not tell its database; say it, as { dialect: "postgres" }`,
  );
}
