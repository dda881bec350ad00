import { onTestFinished } from "vitest";
import { bind } from "../../src/dialect/bind.ts";
import type { ClaimedRow, Dialect } from "../../src/dialect/dialect.ts";
import type { Statement } from "../../src/dialect/statement.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { runSteps } from "../../src/driver/run-steps.ts";
import type { IsolationLevel, TableDescription } from "../../src/table/description.ts";
import type { Open, OpenedSource, OpenOptions } from "./sources.ts";

type Values = Readonly<Record<string, unknown>>;

/** A connection on which a test runs a dialect's statements, one by one or in a transaction. */
export class TableSession {
  readonly connection: Connection;
  readonly #dialect: Dialect;

  constructor(connection: Connection, dialect: Dialect) {
    this.connection = connection;
    this.#dialect = dialect;
  }

  async begin(level?: IsolationLevel): Promise<void> {
    await runSteps(this.connection, [this.#dialect.begin(level)]);
  }

  async commit(): Promise<void> {
    await runSteps(this.connection, [{ kind: "commit" }]);
  }

  async rollback(): Promise<void> {
    await runSteps(this.connection, [{ kind: "rollback" }]);
  }

  /** The statement as it stands: within the open transaction, if there is one. */
  async run<Row = Record<string, unknown>>(
    statement: Statement | undefined,
    values: Values = {},
  ): Promise<Row[]> {
    if (statement === undefined) throw new Error("the dialect has no such statement");
    const [result] = await runSteps<Row>(this.connection, [bind(statement, values)]);
    return result?.rows ?? [];
  }

  /** The statement as the library runs it by itself: in a short transaction at the safe level. */
  async alone<Row = Record<string, unknown>>(
    statement: Statement | undefined,
    values: Values = {},
  ): Promise<Row[]> {
    if (statement === undefined) throw new Error("the dialect has no such statement");
    const begin = this.#dialect.beginShort;
    try {
      const [, result] = await runSteps<Row>(this.connection, [
        begin,
        bind(statement, values),
        { kind: "commit" },
      ]);
      return result?.rows ?? [];
    } catch (error) {
      await this.rollback().catch(() => {});
      throw error;
    }
  }

  /** What settlements take of claimed rows. */
  held(rows: readonly ClaimedRow[]): { ids: unknown; tokens: unknown; attempts: unknown } {
    return {
      ids: this.#dialect.list(rows.map(({ id }) => id)),
      tokens: this.#dialect.list(rows.map(({ token }) => token)),
      attempts: this.#dialect.list(rows.map(({ attempt }) => attempt)),
    };
  }
}

export interface OpenedTable extends OpenedSource {
  readonly table: TableDescription;
  /** A session of its own, given back when the test ends. */
  session(): Promise<TableSession>;
}

/** An empty database with the described tables in it. */
export async function openTable(
  open: Open,
  dialect: Dialect,
  table: TableDescription,
  options: OpenOptions & { readonly also?: readonly TableDescription[] } = {},
): Promise<OpenedTable> {
  const opened = await open(options);
  for (const each of [table, ...(options.also ?? [])]) {
    for (const statement of dialect.ddl(each)) await opened.query(statement);
  }
  const connections: Connection[] = [];
  onTestFinished(async () => {
    for (const each of connections) {
      await each.rollback().catch(() => {});
      await each.release();
    }
  });
  return {
    ...opened,
    table,
    async session() {
      const connection = await opened.source.connect();
      connections.push(connection);
      return new TableSession(connection, dialect);
    },
  };
}
