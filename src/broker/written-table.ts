import { dialectNamed } from "../dialect/dialects.ts";
import { checkBoolean, checkKnownKeys } from "../options.ts";
import type { TableDescription } from "../table/description.ts";
import { checkNames } from "../table/names.ts";
import { plainData, type TableData } from "../table/plain-data.ts";
import type { TableFacts } from "../table/table-facts.ts";
import type { Writable } from "./executor.ts";
import { insertRows } from "./insert.ts";
import { type WriteTarget, writeTarget } from "./write-target.ts";

/**
 * A described table that rows are written to.
 */
export interface WrittenTable<Facts extends TableFacts = TableFacts> {
  /** Types only: a row. */
  readonly $row: Facts["row"];
  /** Types only: a row as an insert takes it. */
  readonly $insert: Facts["insert"];
  /** Types only: what the table can do. */
  readonly $table: Facts;
  readonly description: TableDescription;

  /**
   * Writes rows, in one statement where they give the same columns. Answers the ids, in order.
   *
   * @param conn a connection source, a pool, a client, a handler's `tx`, or an open transaction, an ORM's too.
   * @throws TypeError for a value that its column cannot take.
   */
  insert(
    conn: Writable,
    rows: readonly Facts["insert"][],
    options?: TableInsertOptions,
  ): Promise<readonly Facts["id"][]>;
  /** Writes a row; answers its id. */
  insert(conn: Writable, row: Facts["insert"], options?: TableInsertOptions): Promise<Facts["id"]>;

  /**
   * The CREATE TABLE and the indexes that the table's claims want, a statement each. On PostgreSQL 11 and 12
   * generated UUIDs take the extension pgcrypto.
   *
   * @param database as its dialect is named, such as "postgres".
   */
  ddl(database: string, options?: DdlOptions): readonly string[];

  /** The description as JSON can hold it. */
  describe(): TableData;
}

/** Settings of an insert. */
export interface TableInsertOptions extends WriteTarget {
  /** Notifies listeners of other processes. Default: where a broker of this process listens. */
  readonly notify?: boolean;
}

/** Settings of `ddl`. */
export interface DdlOptions {
  /** Also the trigger that wakes listeners of rows which are written by other means. Default false. */
  readonly listenNotify?: boolean;
}

/** The table at run time, whatever its types. */
export class TableWriter {
  declare readonly $row: never;
  declare readonly $insert: never;
  declare readonly $table: never;
  readonly description: TableDescription;

  constructor(description: TableDescription) {
    this.description = description;
  }

  async insert(conn: unknown, given: unknown, options: unknown = {}): Promise<never> {
    const { notify, ...target } = checkKnownKeys("insert", options, ["database", "notify"]);
    const ids = await insertRows(this.description, conn, Array.isArray(given) ? given : [given], {
      dialect: writeTarget(this.description, conn, target),
      ...(notify !== undefined && { notify: checkBoolean("notify", notify) }),
    });
    // The types say what it is, and they are known where the table was described.
    return (Array.isArray(given) ? ids : ids[0]) as never;
  }

  ddl(database: string, options: DdlOptions = {}): readonly string[] {
    checkKnownKeys("ddl", options, ["listenNotify"]);
    const dialect = dialectNamed(database);
    checkNames(this.description, dialect);
    return dialect.ddl(this.description, options);
  }

  describe(): TableData {
    return plainData(this.description);
  }
}
