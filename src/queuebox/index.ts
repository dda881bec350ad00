/**
 * `intray/queuebox`: the pull inbox of a QueueBox server. The names of the published client, so that
 * moving over is one changed import.
 *
 * @module
 */
export type { Clock, Timer } from "../clock.ts";
export { defaultSchema, type InboxSchema } from "../dialect/inbox-schema.ts";
export type { InboxStatement, InboxStatements } from "../dialect/inbox-statement.ts";
export type {
  GuardedClient,
  Listener,
  QueryResult,
  StatementStep,
  Step,
} from "../driver/connection.ts";
export {
  fromMssql,
  type MssqlModuleLike,
  type MssqlPoolLike,
  type MssqlTypesLike,
} from "../driver/mssql.ts";
export * from "../driver/pg.ts";
export * from "../driver/pglite.ts";
export * from "../driver/postgres-js.ts";
export {
  AlreadyRunningError,
  IntrayError,
  LeaseExpiredError,
  LeaseLostError,
  PayloadError,
  SchemaError,
  ShutdownError,
  TimeoutError,
  TransactionError,
} from "../errors.ts";
export type { TemplateQuery } from "../form/handler-transaction.ts";
export { MAX_ERROR_LENGTH, sanitize, sanitizeError } from "../redact.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "../standard-schema.ts";
export {
  type DefaultRetryPolicyOptions,
  deadLetter,
  defaultRetryPolicy,
  retryAfter,
} from "./failure-action.ts";
export { inboxSql } from "./inbox-sql.ts";
export { InboxWorker } from "./inbox-worker.ts";
export type { PayloadOf, PayloadOption } from "./message.ts";
export { type InboxOptions, type ResolvedInboxOptions, resolveOptions } from "./options.ts";
export type {
  InboxConnection,
  InboxConnectionSource,
  InboxFailureAction,
  InboxHandler,
  InboxLogger,
  InboxMessage,
  InboxQueryResult,
  InboxRetryDecision,
  InboxRetryPolicy,
  InboxTransaction,
  SqlDialect,
} from "./types.ts";
