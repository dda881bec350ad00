/** What the database says of the table: its columns, and whether the index for long aggregates is there. */
import { type InboxSchema, inboxColumnKeys } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { literal } from "./sql.ts";

/**
 * Answers a row for each column of the schema: `role` (its key in the schema), `name`, `type` as the
 * database writes it, and `present`; and in each row `table_present`. No parameters.
 */
export function columnsStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const wanted = inboxColumnKeys
    .map((role) => `(${literal(role)}, ${literal(names.schema[role])})`)
    .join(", ");
  return {
    text: `SELECT
  wanted.role,
  wanted.name,
  format_type(found.atttypid, found.atttypmod) AS type,
  found.attname IS NOT NULL AS present,
  inbox.oid IS NOT NULL AS table_present
FROM (VALUES ${wanted}) AS wanted (role, name)
CROSS JOIN (SELECT to_regclass(${literal(names.table)}) AS oid) AS inbox
LEFT JOIN pg_attribute AS found
  ON found.attrelid = inbox.oid AND found.attname = wanted.name AND found.attnum > 0 AND NOT found.attisdropped`,
    params: [],
  };
}

/**
 * Answers one row, `by_aggregate`: there is a valid index that begins with source, aggregate id and
 * scheduled time, over all rows or over those that wait for a worker. Then
 * `claimPastByAggregateStatement` is the one to run. No parameters.
 */
export function indexesStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { consumption, state } = names.schema;
  const leading = (["source", "aggregateId", "scheduledAt", "createdAt", "id"] as const)
    .map((role) => literal(names.schema[role]))
    .join(", ");
  return {
    // The predicate as the server prints it, less the casts and brackets it adds by the columns' types.
    // One that is narrower would leave rows out of the walk.
    text: `SELECT EXISTS (
  SELECT 1
  FROM pg_index AS x
  WHERE x.indrelid = to_regclass(${literal(names.table)})
    AND x.indisvalid AND x.indisready AND x.indislive
    AND (SELECT am.amname FROM pg_class AS c JOIN pg_am AS am ON am.oid = c.relam WHERE c.oid = x.indexrelid) = 'btree'
    AND ARRAY[${leading}]::text[] = ARRAY(
      SELECT a.attname::text
      FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
      JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
      WHERE k.position <= 5
      ORDER BY k.position
    )
    AND (
      x.indpred IS NULL
      OR regexp_replace(pg_get_expr(x.indpred, x.indrelid), '::text|::character varying|[()"\\s]', '', 'g') IN (
        ${literal(`${consumption}='pull'AND${state}='pending'`)},
        ${literal(`${state}='pending'AND${consumption}='pull'`)}
      )
    )
) AS by_aggregate`,
    params: [],
  };
}
