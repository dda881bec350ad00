import { bind } from "../../dialect/bind.ts";
import type { InboxStatement } from "../../dialect/inbox-statement.ts";
import { withConnection } from "../../driver/checkout.ts";
import type { ConnectionSource, QueryResult } from "../../driver/connection.ts";

/** Runs one statement on a connection of its own. */
export async function ask<Row = Record<string, unknown>>(
  source: ConnectionSource,
  statement: InboxStatement,
  values: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<QueryResult<Row>> {
  const { text, params } = bind(statement, values);
  return await withConnection(source, signal, (connection) => connection.query<Row>(text, params));
}
