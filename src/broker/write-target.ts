import type { Dialect } from "../dialect/dialect.ts";
import { dialectNamed } from "../dialect/dialects.ts";
import { shown } from "../options.ts";
import { type TableDescription, tableLabel } from "../table/description.ts";
import { executorOf } from "./executor.ts";

/** Where an insert writes to, where its connection does not tell. */
export interface WriteTarget {
  /** The database that the connection leads to, such as "postgres". Default: as the connection tells. */
  readonly database?: string;
}

/**
 * The dialect to write in.
 *
 * @throws TypeError where neither the connection nor the option tells which database it is.
 */
export function writeTarget(
  table: TableDescription,
  conn: unknown,
  { database = executorOf(conn).database }: { readonly database?: unknown },
): Dialect {
  if (typeof database === "string") return dialectNamed(database);
  throw new TypeError(
    database === undefined
      ? `insert into ${tableLabel(table)}: the connection does not tell its database; say it, as { database: "postgres" }`
      : `database takes a database's name, such as "postgres", not ${shown(database)}`,
  );
}
