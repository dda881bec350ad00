/** How a table stands, source by source, for the command line and for alarms. */
import type { InboxSchema } from "../inbox-schema.ts";
import type { InboxStatement } from "../inbox-statement.ts";
import { inboxNames } from "./inbox-names.ts";
import { declareNow, now, numberText, utcText } from "./sql.ts";

/**
 * See the administration's `status`. Processed rows are not counted, but where no index knows them (V10) the whole
 * table is read. Rows that somebody is changing at this moment are passed over: a claim that is not committed
 * would keep the look waiting. Parameter: source (null: all).
 */
export function statusStatement(schema: InboxSchema): InboxStatement {
  const names = inboxNames(schema);
  const { column, table } = names;
  const count = (condition: string) => numberText(`COUNT_BIG(CASE WHEN ${condition} THEN 1 END)`);
  const oldest = `MIN(CASE WHEN ${names.due("i")} THEN i.${column.scheduledAt} END)`;
  return {
    text: `SET NOCOUNT ON;
${declareNow}
DECLARE @src nvarchar(4000) = @p1;
SELECT
  i.${column.source} AS [source],
  ${count(names.due("i"))} AS [backlog],
  ${count(`${names.pending("i")} AND i.${column.scheduledAt} > ${now}`)} AS [scheduled],
  ${count(names.live("i"))} AS [in_work],
  ${count(names.expired("i"))} AS [expired],
  ${count(`i.${column.state} = N'dead'`)} AS [dead],
  ${utcText(oldest)} AS [oldest_due],
  ${numberText(`DATEDIFF_BIG(millisecond, ${oldest}, ${now})`)} AS [oldest_due_ms]
FROM ${table} AS i WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
WHERE i.${column.consumption} = 'pull'
  AND i.${column.state} IN (N'pending', N'processing', N'dead')
  AND (@src IS NULL OR i.${column.source} = @src)
GROUP BY i.${column.source}
ORDER BY i.${column.source};`,
    params: ["source"],
  };
}
