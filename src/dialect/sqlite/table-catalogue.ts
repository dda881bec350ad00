/** What the database says of a described table, and of itself. */
import type { TableDescription } from "../../table/description.ts";
import type { Statement } from "../statement.ts";
import { literal } from "./sql.ts";

/**
 * A row a column: `name`, `type` as it was declared, `nullable`, `generated` (never, byDefault, always),
 * `precision`, null: text holds as many digits as are written. No rows: there is no such table.
 */
export function columnsStatement({ name, schema = "main" }: TableDescription): Statement {
  return {
    text: `SELECT
  c.name,
  c.type,
  c."notnull" = 0 AND c.pk = 0 AS nullable,
  CASE
    WHEN c.hidden IN (2, 3) THEN 'always'
    WHEN c.dflt_value IS NOT NULL OR (c.pk = 1 AND upper(c.type) = 'INTEGER') THEN 'byDefault'
    ELSE 'never'
  END AS generated,
  NULL AS precision
FROM pragma_table_xinfo(${literal(name)}, ${literal(schema)}) AS c
ORDER BY c.cid`,
    params: [],
  };
}

export const versionStatement: Statement = {
  text: `SELECT v.label,
  1000000 * CAST(v.label AS INTEGER)
  + 1000 * CAST(substr(v.label, 1 + instr(v.label, '.')) AS INTEGER) AS version
FROM (SELECT sqlite_version() AS label) AS v`,
  params: [],
};

/** RETURNING came with it. */
export const oldestVersion = { version: 3_035_000, label: "3.35" } as const;

/** Nothing here ends a transaction but its own connection. */
export const timeoutsStatement: Statement = {
  text: "SELECT '' AS name, 0 AS ms WHERE false",
  params: [],
};
