import type { CatalogueRow, InboxWorkerStatements } from "../dialect/inbox-dialect.ts";
import { withConnection } from "../driver/checkout.ts";
import type { Connection } from "../driver/connection.ts";
import { refusedStatement } from "../driver/refused-statement.ts";
import { FatalError } from "../engine/work.ts";
import { asError, SchemaError } from "../errors.ts";
import { type InboxContext, runStatement } from "./inbox-context.ts";

/** What the worker learns of its table before the first claim. */
export interface InboxTable {
  /** The index is there that lets a claim skip through a long aggregate. */
  readonly hasAggregateIndex: boolean;
}

/**
 * Looks whether the table fits, and says what would hurt later.
 *
 * @throws FatalError where the table or a column is missing, the server is not what the statements take, or it
 * refuses one of them.
 */
export async function inspectTable(
  context: InboxContext,
  signal: AbortSignal,
): Promise<InboxTable> {
  return await withConnection(context.source, signal, async (connection) => {
    const { statements } = context;
    if (statements.requirements !== undefined) {
      const unmet = await runStatement<{ unmet: string }>(connection, statements.requirements, {});
      if (unmet.rows.length > 0) {
        throw new FatalError(new SchemaError(unmet.rows.map((row) => row.unmet).join("; ")));
      }
    }
    const columns = await runStatement<CatalogueRow>(connection, statements.columns, {});
    checkColumns(context, columns.rows);
    await checkStatements(context, connection);
    const indexes = await runStatement<{ by_aggregate: boolean }>(
      connection,
      statements.indexes,
      {},
    );
    const timeouts = await runStatement<{ name: string; ms: number }>(
      connection,
      statements.timeouts,
      {},
    );
    const hasAggregateIndex = indexes.rows[0]?.by_aggregate === true;
    if (!hasAggregateIndex) adviseIndex(context);
    for (const timeout of timeouts.rows) warnOfTimeout(context, timeout);
    return { hasAggregateIndex };
  });
}

function checkColumns(context: InboxContext, columns: readonly CatalogueRow[]): void {
  const { table } = context.options.schema;
  const advice = `It takes the inbox table as QueueBox schema V10 has it ("intray queuebox ddl" prints it); other names go into the option "schema".`;
  if (!columns.some((column) => column.table_present)) {
    throw new FatalError(new SchemaError(`the database has no table ${table}. ${advice}`));
  }
  const missing = columns.filter((column) => !column.present).map((column) => column.name);
  if (missing.length === 0) return;
  const what = missing.length === 1 ? "column" : "columns";
  throw new FatalError(
    new SchemaError(`the table ${table} has no ${what} ${missing.join(", ")}. ${advice}`),
  );
}

async function checkStatements(
  { dialect, options, statements }: InboxContext,
  connection: Connection,
): Promise<void> {
  const { errors, preparing } = dialect;
  if (preparing === undefined) return;
  for (const name of WORKING) {
    const refusal = await refusedStatement(connection, errors, preparing, statements[name]);
    if (refusal === undefined) continue;
    const why = asError(refusal.error).message;
    throw new FatalError(
      new SchemaError(
        `the server refuses the statement "${name}" on table ${options.schema.table}: ${why}`,
        { cause: refusal.error },
      ),
    );
  }
}

/** What is run after the start. */
const WORKING = [
  "claim",
  "claimPastByAggregate",
  "claimPastInOrder",
  "lookAgain",
  "renewAll",
  "releaseAll",
  "completeOrFail",
  "retry",
  "dead",
  "readBack",
] as const satisfies readonly (keyof InboxWorkerStatements)[];

function adviseIndex({ dialect, fields, log, options }: InboxContext): void {
  log.info("an index would keep claims fast while one aggregate has very many messages due", {
    event: "index_advice",
    ...fields,
    ddl: dialect.aggregateIndexDdl(options.schema),
  });
}

function warnOfTimeout(
  { fields, log }: InboxContext,
  { name, ms }: { readonly name: string; readonly ms: number },
): void {
  log.warn(
    "the server ends transactions that idle: a message whose handler pauses longer between two statements fails",
    { event: "server_timeout", ...fields, setting: name, timeoutMs: ms },
  );
}
