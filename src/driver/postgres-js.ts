import { hasMethods, isObject } from "../options.ts";
import { orAbort } from "../time-limit.ts";
import type { Connection, ConnectionSource, Listener } from "./connection.ts";
import { PostgresJsConnection } from "./postgres-js-connection.ts";
import { listenThroughSql } from "./postgres-js-listen.ts";
import { openSession } from "./postgres-js-session.ts";
import { isRunner, type PostgresJsRunner, type PostgresJsSqlLike } from "./postgres-js-types.ts";

export type { PostgresJsSqlLike } from "./postgres-js-types.ts";

/**
 * Connections from postgres.js. The `sql` stays yours: intray never ends it. Behind a pooler in
 * transaction mode give it `prepare: false`, as the library itself asks for.
 *
 * Parameters mean here what they mean to `pg`: a string is sent as it stands, also for JSON, an array is
 * an array of PostgreSQL, another object is JSON. What `sql.json(...)` or `sql.typed(...)` made is passed
 * on unchanged.
 *
 * @example
 * import postgres from "postgres";
 * const source = fromPostgresJs(postgres("postgres://localhost/app", { max: 10 }));
 *
 * @throws TypeError if `sql` has the wrong shape, or was made with a `transform` that renames columns or
 * changes rows: intray reads columns by their names in the database.
 */
export function fromPostgresJs(sql: PostgresJsSqlLike): ConnectionSource<"postgres"> {
  if (
    !hasMethods(sql, ["unsafe", "typed", "listen"]) ||
    !("options" in sql) ||
    !isObject(sql.options) ||
    !isRunner(sql)
  ) {
    throw new TypeError(
      "fromPostgresJs: takes the sql of postgres.js 3.4 or later, such as postgres(url)",
    );
  }
  const changed = changesRows(sql.options.transform);
  if (changed !== undefined) {
    throw new TypeError(
      `fromPostgresJs: the sql has transform.${changed}.from, which changes rows; give intray an sql without it`,
    );
  }
  return new PostgresJsSource(sql);
}

class PostgresJsSource implements ConnectionSource {
  readonly database = "postgres";
  readonly max?: number;
  /** The library opens a connection of its own for it. */
  readonly listensApart = true;
  readonly #sql: PostgresJsSqlLike & PostgresJsRunner;

  constructor(sql: PostgresJsSqlLike & PostgresJsRunner) {
    this.#sql = sql;
    const { max } = sql.options;
    if (typeof max === "number") this.max = max;
  }

  async connect(signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const opening = openSession(this.#sql);
    const session =
      signal === undefined
        ? await opening
        : await orAbort(opening, signal, (late) => late.release());
    return new PostgresJsConnection(this.#sql, session);
  }

  listen(channel: string, listener: Listener): Promise<() => Promise<void>> {
    return listenThroughSql(this.#sql, channel, listener);
  }
}

/** The part of `transform` that changes what comes back, if any. */
function changesRows(transform: unknown): string | undefined {
  if (!isObject(transform)) return undefined;
  return ["column", "value", "row"].find((part) => {
    const change: unknown = Reflect.get(transform, part);
    return isObject(change) && typeof Reflect.get(change, "from") === "function";
  });
}
