/**
 * `intray`: queue tables of the service, described once, and the broker that works them.
 *
 * @module
 */

export type { AdminOptions, RowsOf } from "./broker/admin.ts";
export { Broker, type BrokerHealth, type BrokerState } from "./broker/broker.ts";
export type { HandlerContext, HandlerLog, Reply } from "./broker/context.ts";
export type { DeadLetterColumns } from "./broker/dead-letter.ts";
export {
  type DeadLetterRow,
  type DeadLetterSelection,
  type DeadLetters,
  deadLetters,
  type RetriedDeadLetters,
  type RetryDestination,
  type WholeDeadLetterRow,
} from "./broker/dead-letters.ts";
export type { Writable } from "./broker/executor.ts";
export type { Headers } from "./broker/headers.ts";
export {
  type InboxHeaders,
  type InboxMessage,
  inboxHeaders,
  inboxMessage,
} from "./broker/inbox-headers.ts";
export { type InboxTable, inboxTable } from "./broker/inbox-table.ts";
export type { MessageOptions } from "./broker/messages.ts";
export type { FailurePolicy } from "./broker/policies.ts";
export { type PurgeOptions, purgeProcessed } from "./broker/purge-processed.ts";
export type { AgedStats, SubscriptionStats } from "./broker/stats.ts";
export type { Subscription } from "./broker/subscription.ts";
export type { QueueInsertOptions, TableQueue } from "./broker/table-queue.ts";
export { type GroupStatus, tableStatus } from "./broker/table-status.ts";
export type {
  Answer,
  BatchContext,
  BrokerOptions,
  DescribedTable,
  Handler,
  Replying,
  SubscribeOptions,
  Transactional,
} from "./broker/types.ts";
export type { DdlOptions, TableInsertOptions, WrittenTable } from "./broker/written-table.ts";
export type { Clock, Timer } from "./clock.ts";
export {
  type ConfigTable,
  type DatabaseConfig,
  defineConfig,
  type IntrayConfig,
} from "./config.ts";
export type { Delay, DelayText } from "./delay.ts";
export type { RowsSettings, TableAdministration } from "./dialect/administration.ts";
export type {
  AdvisoryLockStatements,
  ClaimedRow,
  ClaimSettings,
  DeadLetterSettings,
  Dialect,
  DialectFeatures,
  InsertSettings,
  LeaseSettings,
  LeaseStatements,
  RowLockStatements,
  SettleStatements,
  TableInspection,
  TransactionStatements,
  TypeCodec,
} from "./dialect/dialect.ts";
export type { DialectErrors } from "./dialect/errors.ts";
export { postgres as postgresDialect } from "./dialect/postgres/postgres.ts";
export type { Program, ProgramRun, Statement, Values } from "./dialect/statement.ts";
export type {
  Connection,
  ConnectionLocks,
  ConnectionSource,
  GuardedClient,
  Listener,
  QueryResult,
  StatementStep,
  Step,
} from "./driver/connection.ts";
export {
  AlreadyRunningError,
  CustomEventError,
  DecodeError,
  IntrayError,
  LeaseExpiredError,
  LeaseLostError,
  PayloadError,
  RouteError,
  SchemaError,
  SettlementError,
  ShutdownError,
  TableError,
  TimeoutError,
  TransactionError,
} from "./errors.ts";
export type {
  HandlerFacade as HandlerTransaction,
  TemplateQuery,
} from "./form/handler-transaction.ts";
export type { Logger, LogLevel } from "./log.ts";
export {
  type Ack,
  ack,
  type DeadLetter,
  type Drop,
  deadLetter,
  drop,
  type Outcome,
  type Retry,
  type RetryAfter,
  retry,
  retryAfter,
} from "./outcome.ts";
export type { RetryDelays } from "./retry.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.ts";
export type { Casing } from "./table/casing.ts";
export type { AnyColumn, Column, Columns, CustomCodec } from "./table/column.ts";
export { type ColumnTypes, c } from "./table/columns.ts";
export type {
  ClaimRequest,
  EventConnection,
  EventDestination,
  RawId,
  RawRow,
  TableEvents,
} from "./table/custom-events.ts";
export type {
  ColumnDescription,
  ColumnType,
  Fifo,
  FormName,
  IsolationLevel,
  KeyPart,
  MessageDescription,
  Role,
  TableDescription,
  TransactionMode,
} from "./table/description.ts";
export type { ColumnData, TableData } from "./table/plain-data.ts";
export type { PayloadCodec, Queue } from "./table/queue.ts";
export type { TableFacts } from "./table/table-facts.ts";
export type { TableClock, TableOptions } from "./table/table-options.ts";
