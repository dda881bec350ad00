import { bind } from "../dialect/bind.ts";
import type { InboxDialect, InboxWorkerStatements } from "../dialect/inbox-dialect.ts";
import type { InboxStatement } from "../dialect/inbox-statement.ts";
import type { Connection, ConnectionSource, QueryResult } from "../driver/connection.ts";
import { runSteps } from "../driver/run-steps.ts";
import type { Log } from "../log.ts";
import type { ResolvedInboxOptions } from "./options.ts";

/** What every part of one worker works with. */
export interface InboxContext {
  readonly source: ConnectionSource;
  readonly dialect: InboxDialect;
  readonly statements: InboxWorkerStatements;
  readonly options: ResolvedInboxOptions;
  readonly log: Log;
  /** Aborts when `run` ends: nothing is tried again after it. */
  readonly ended: AbortSignal;
  /** Fields that every log line of the worker carries. */
  readonly fields: Record<string, unknown>;
}

/** Runs one of the worker's statements by itself. */
export async function runStatement<Row = Record<string, unknown>>(
  connection: Connection,
  statement: InboxStatement,
  values: Readonly<Record<string, unknown>>,
): Promise<QueryResult<Row>> {
  const results = await runSteps<Row>(connection, [bind(statement, values)]);
  return results[0] ?? { rows: [], rowCount: 0 };
}
