export type { Clock, Timer } from "./clock.ts";
export type {
  Connection,
  ConnectionSource,
  Listener,
  QueryResult,
  StatementStep,
  Step,
} from "./driver/connection.ts";
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
} from "./errors.ts";
export type { Logger, LogLevel } from "./log.ts";
