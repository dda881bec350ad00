/** What the database says of a described table. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal } from "./sql.ts";
import { tableName } from "./table-names.ts";

/**
 * A row a column: `name`, `type` as the database writes it, `nullable`, `generated` (never, byDefault,
 * always: as descriptions have it), `precision` of a timestamp. No rows: there is no such table.
 */
export function columnsStatement(table: TableDescription): Statement {
  return {
    // attgenerated came with PostgreSQL 12; through JSON it is null where it is not there.
    text: `SELECT
  a.attname::text AS name,
  format_type(a.atttypid, a.atttypmod) AS type,
  NOT a.attnotnull AS nullable,
  CASE
    WHEN a.attidentity = 'a' OR coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '' THEN 'always'
    WHEN a.attidentity = 'd' OR a.atthasdef THEN 'byDefault'
    ELSE 'never'
  END AS generated,
  CASE WHEN a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)
    THEN CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END
  END AS precision
FROM pg_attribute AS a
WHERE a.attrelid = to_regclass(${literal(tableName(table))}) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`,
    params: [],
  };
}

/** In the words of descriptions; read uncommitted is read committed. */
export const isolationStatement: Statement = {
  text: `SELECT CASE current_setting('default_transaction_isolation')
  WHEN 'serializable' THEN 'serializable'
  WHEN 'repeatable read' THEN 'repeatableRead'
  ELSE 'readCommitted'
END AS level`,
  params: [],
};

export const sessionStatement: Statement = {
  text: "SELECT pg_backend_pid()::text AS session",
  params: [],
};

export const versionStatement: Statement = {
  text: `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS label`,
  params: [],
};
