import type { Connection, ConnectionSource, QueryResult } from "../driver/connection.ts";
import type { TemplateQuery } from "../form/handler-transaction.ts";
import type { Logger } from "../log.ts";

/** A source of connections for an {@link InboxWorker}: {@link fromPg}, or one made by hand. */
export type InboxConnectionSource = ConnectionSource;
/** A checked-out connection; `connect`, `query`, `begin`, `commit`, `rollback` and `release` are enough. */
export type InboxConnection = Connection;
/** What a statement answered. */
export type InboxQueryResult<Row = Record<string, unknown>> = QueryResult<Row>;
/** Where log lines go; nothing is printed without one. `console` is one. */
export type InboxLogger = Logger;

/** A message of the inbox as the handler sees it. Its claim token is nobody's business but the worker's. */
export interface InboxMessage<Payload = unknown> {
  readonly id: string;
  readonly source: string;
  /** Unique within the source; what to deduplicate work outside the database by. */
  readonly idempotencyKey: string;
  /** Messages of one aggregate are worked one at a time; null: free of all others. */
  readonly aggregateId: string | null;
  readonly eventType: string | null;
  readonly correlationId: string | null;
  readonly payload: Payload;
  /** Never null; empty where the row has none. */
  readonly headers: Readonly<Record<string, string>>;
  /** How many attempts failed before this one; 0 on the first delivery. */
  readonly attempt: number;
}

/**
 * The transaction that the handler writes in; the message's completion commits with it. Statements
 * that begin or end transactions are refused, and so is any use after the handler has ended.
 */
export interface InboxTransaction {
  /**
   * Runs a statement in the transaction, with the database's own placeholders (`$1` on PostgreSQL).
   * @throws TransactionError where the statement begins or ends a transaction, or the handler is over.
   */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<InboxQueryResult<Row>>;
  /** The same as a tagged template: each value is bound, never spliced in. */
  readonly sql: TemplateQuery;
  /** The driver's own client on this transaction, for ORMs; undefined where the source has none. */
  readonly client: unknown;
}

/**
 * Works one message. Returning completes it, with all that was written through `tx`; throwing rolls
 * that back, and the retry policy decides. `signal` aborts when the message is lost or the worker's
 * grace is over: end soon then, nothing of it will be committed.
 */
export type InboxHandler<Payload = unknown> = (
  message: InboxMessage<Payload>,
  tx: InboxTransaction,
  signal: AbortSignal,
) => Promise<void> | void;

/** What to do with a message that failed. */
export type InboxFailureAction =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly retry: false };

/** Decides about a failed message; `failure` is what was thrown. May be async. */
export type InboxRetryPolicy = InboxRetryDecision | { decide: InboxRetryDecision };

export type InboxRetryDecision = (
  message: InboxMessage,
  failure: unknown,
) => InboxFailureAction | Promise<InboxFailureAction>;

/** The databases that carry an inbox. */
export type SqlDialect = "postgresql" | "sqlserver";
