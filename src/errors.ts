/**
 * The errors of the library. Each says what happened, where, and what to do; `code` is stable.
 * Wrong options are the language's own TypeError and RangeError.
 */
export class IntrayError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * The row is no longer this delivery's: its lease ended or another worker took it. It is the reason
 * of the handler's signal, and nothing of the delivery is written.
 */
export class LeaseLostError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("LEASE_LOST", message, options);
  }
}

/**
 * A message's lease expired without a word of its worker. Retry policies see it where expired leases
 * are charged.
 */
export class LeaseExpiredError extends IntrayError {
  constructor(message: string) {
    super("LEASE_EXPIRED", message);
  }
}

/** The worker is stopping and its grace is over; the reason of the handler's signal. */
export class ShutdownError extends IntrayError {
  constructor(message: string) {
    super("SHUTDOWN", message);
  }
}

/**
 * A message's body or headers cannot be read: no JSON, headers that are no flat object, or a payload
 * that its schema refuses. A retry policy may dead-letter it at once, since the row will not change.
 */
export class PayloadError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("PAYLOAD", message, options);
  }
}

/** The table is not what the door expects: it is missing, or a column is. Ends the worker. */
export class SchemaError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("SCHEMA", message, options);
  }
}

/** The handler's transaction was used in a way that cannot be made safe, or could not commit. */
export class TransactionError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("TRANSACTION", message, options);
  }
}

/** A worker that runs was started again. */
export class AlreadyRunningError extends IntrayError {
  constructor(message: string) {
    super("ALREADY_RUNNING", message);
  }
}

/** The wait for an answer of the database was given up; the connection is destroyed. */
export class TimeoutError extends IntrayError {
  constructor(message: string) {
    super("TIMEOUT", message);
  }
}

/** A table's description breaks rules; the message holds each of them, a line a rule. */
export class TableError extends IntrayError {
  constructor(message: string) {
    super("TABLE", message);
  }
}

/** A row could not be read into a message; policies see it as the failure. */
export class DecodeError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("DECODE", message, options);
  }
}

/** A settlement failed in the database; the message names the event and the table. */
export class SettlementError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("SETTLEMENT", message, options);
  }
}

/**
 * An event of the service's own (the option `custom` of a table) threw, or answered what it must not; the
 * message names the event and the table. What it was part of has been taken back.
 */
export class CustomEventError extends IntrayError {
  constructor(message: string, options?: ErrorOptions) {
    super("CUSTOM_EVENT", message, options);
  }
}

/** A name was published to that no route leads from. */
export class RouteError extends IntrayError {
  constructor(message: string) {
    super("ROUTE", message);
  }
}

/** An unknown thrown value as an Error, itself where it is one. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error
    ? thrown
    : new Error("a value that is no Error was thrown", { cause: thrown });
}

/** What follows an error that has rolled the transaction back. */
export function transactionRolledBack(cause: unknown): TransactionError {
  return new TransactionError(
    "the database has rolled the handler's transaction back: what runs now would not be part of it",
    { cause },
  );
}
