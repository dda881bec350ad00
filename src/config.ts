import type { Dialect } from "./dialect/dialect.ts";
import type { TableDescription } from "./table/description.ts";
import type { QueueDescription } from "./table/queue.ts";

/** What `intray.config.ts` exports: the databases that the command line works with. */
export interface IntrayConfig {
  /** By the names that the command line calls them. */
  readonly databases: { readonly [name: string]: DatabaseConfig };
}

/** A database and the tables that are described for it. */
export interface DatabaseConfig {
  /**
   * Where it is: `postgres://localhost/shop`, `mysql://...`, `mariadb://...`, or an SQLite file as
   * `sqlite:app.db`, `file:app.db` or its path alone, from the configuration's folder. `intray ddl` and
   * `intray check --offline` do without; the others say so where it is missing, so it may come from the
   * environment.
   */
  readonly url?: string | undefined;
  /** Its dialect, by name or one of the service's own. Default: that of the URL, else "postgres". */
  readonly dialect?: string | Dialect;
  /** What `inboxTable`, `inboxHeaders` and `inboxMessage` made. */
  readonly tables: readonly ConfigTable[];
  /**
   * Where dead letters go: queues, or whole tables. `intray status` marks them, and `intray dead` is about
   * the only one where no other was named. Default none.
   */
  readonly deadLetters?: readonly (QueueDescription | ConfigTable)[];
}

/** A described table. */
export interface ConfigTable {
  readonly description: TableDescription;
}

/**
 * Types the configuration of the command line, and changes nothing of it.
 *
 * @example
 * // intray.config.ts
 * export default defineConfig({
 *   databases: { main: { url: process.env.DATABASE_URL, tables: [EmailJobs] } },
 * });
 */
export function defineConfig(config: IntrayConfig): IntrayConfig {
  return config;
}
