/** How a table stands, source by source, for the command line and for alarms. */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { instant, isoTime } from "./sql.ts";

/**
 * Answers a row a source, by name: `source`, `backlog` (due and waiting), `scheduled` (due later),
 * `in_work`, `expired` (in work, the lease run out), `dead`, `oldest_due` (ISO 8601 text or null) and
 * `oldest_due_ms` (its age). Processed rows are not counted, but where no index knows them (V10) the
 * whole table is read: not for a dashboard that asks each second. Parameter: source (null: all).
 */
export function statusStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column } = names;
  const count = (condition: string): string => `count(*) FILTER (WHERE ${condition})::text`;
  const oldest = `min(i.${column.scheduledAt}) FILTER (WHERE ${names.due("i")})`;
  return {
    text: `SELECT
  i.${column.source} AS source,
  ${count(names.due("i"))} AS backlog,
  ${count(`${names.pending("i")} AND i.${column.scheduledAt} > ${instant}`)} AS scheduled,
  ${count(names.live("i"))} AS in_work,
  ${count(names.expired("i"))} AS expired,
  ${count(`i.${column.state} = 'dead'`)} AS dead,
  ${isoTime(oldest)} AS oldest_due,
  (extract(epoch FROM ${instant} - ${oldest}) * 1000)::bigint::text AS oldest_due_ms
FROM ${names.table} AS i
WHERE i.${column.consumption} = 'pull'
  AND i.${column.state} IN ('pending', 'processing', 'dead')
  AND ($1::text IS NULL OR i.${column.source} = $1::text)
GROUP BY i.${column.source}
ORDER BY i.${column.source}`,
    params: ["source"],
  };
}
