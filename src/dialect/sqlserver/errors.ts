import { TransactionError } from "../../errors.ts";
import { isObject } from "../../options.ts";

/**
 * What SQL Server's errors mean, by their numbers. The driver hands on one error and what came before it
 * (`precedingErrors` of `mssql`, `errors` of an AggregateError), and the number that tells may be any of them:
 * behind a rollback within `sp_executesql`, for one, stands a 266 that says no more than that there was one.
 *
 * What an error does to its transaction is not in its number. With XACT_ABORT off (see transactions.ts) a broken
 * constraint undoes its statement alone; a deadlock, a failed conversion or an error in a trigger ends the whole
 * transaction; and the handler's own `SET XACT_ABORT ON` makes the first kind into the second. The server does
 * say it, beside the error, in what it tells the driver of the session: so the adapter notes it on the error
 * ({@link noteTransaction}), and the numbers here answer only for errors of other adapters.
 *
 * A transaction that is doomed (`XACT_STATE()` is -1) is so only within a batch: at the batch's end the server
 * rolls it back and says 3998. None is left that only fails, so `isTransactionAborted` is never true.
 */

/** What the library's own statements THROW. */
export const THROWN: {
  /** The application lock was not granted in time, and the same again may work. */
  readonly lockNotGranted: 51_000;
  /** A settlement that is to fail its transaction found the claim lost. */
  readonly claimLost: 51_001;
  /** The transaction that was to be committed is not open any more. */
  readonly transactionOver: 51_002;
} = Object.freeze({ lockNotGranted: 51_000, claimLost: 51_001, transactionOver: 51_002 });

/** The numbers that the server gave the error, and those before it; none where it is the driver's or a socket's. */
export function serverNumbers(error: unknown): readonly number[] {
  return serverErrors(error).flatMap(({ number }) =>
    // Below 1 other clients number what the server never said: -2 is a timeout.
    typeof number === "number" && number > 0 ? [number] : [],
  );
}

/** The error, and the errors that it was handed on with. */
export function serverErrors(
  error: unknown,
  depth = 0,
): readonly Readonly<Record<string, unknown>>[] {
  if (!isObject(error) || depth > 3) return [];
  const { cause, errors, originalError, precedingErrors } = error;
  const others = [errors, precedingErrors].flatMap((list) => (Array.isArray(list) ? list : []));
  return [
    error,
    ...[originalError, cause, ...others].flatMap((other) => serverErrors(other, depth + 1)),
  ];
}

function has(error: unknown, numbers: ReadonlySet<number>): boolean {
  return serverNumbers(error).some((number) => numbers.has(number));
}

/**
 * Whether the session is gone, or may be: then nobody knows what became of the statement. Only an error that the
 * server reported on a living session says that the statement had no effect. A client's timeout is none: the
 * server may have run the statement, and the transaction around it is open still.
 */
export function isSessionLost(error: unknown): boolean {
  if (error instanceof TransactionError) return false;
  if (isObject(error) && NEVER_SENT.has(String(error.code))) return false;
  return (
    serverErrors(error).some(({ code }) => UNANSWERED.has(String(code))) ||
    serverNumbers(error).length === 0 ||
    has(error, ENDS_SESSION) ||
    // From severity 20 on the server closes the connection behind the error.
    serverErrors(error).some((one) => typeof one.class === "number" && one.class >= 20)
  );
}

/** Codes of `mssql` for requests that it refuses before it sends them. */
const NEVER_SENT: ReadonlySet<string> = new Set(["EPARAM", "EARGS", "EINJECT"]);

/** Codes of `mssql` and `tedious` for a request that was given up, whatever the server had said before that. */
const UNANSWERED: ReadonlySet<string> = new Set([
  "ECANCEL",
  "ECLOSE",
  "ECONNCLOSED",
  "ECONNRESET",
  "ESOCKET",
  "ETIMEOUT",
]);

/** As clients number what happens to the network. */
const NETWORK = [64, 121, 233, 1236, 10053, 10054, 10060, 11001, 35217] as const;

/** Limits of resources on Azure, failovers, and sessions that it ended for what they took. */
const AZURE = [
  10928, 10929, 40143, 40197, 40501, 40540, 40549, 40550, 40551, 40552, 40553, 40613, 42108, 42109,
  49918, 49919, 49920,
] as const;

const ENDS_SESSION: ReadonlySet<number> = new Set<number>([
  ...NETWORK,
  ...AZURE,
  596, // killed
  4060, // the database cannot be opened
  4221, // the replica is not ready for logins
  6005, // the server shuts down
  6006, // stopped by a login
  17142, // paused
  18401, // starting
]);

/** Whether the same again may work: a deadlock, a lock that was not free in time, a row that had changed. */
export function isTransient(error: unknown): boolean {
  return has(error, TRANSIENT);
}

const TRANSIENT: ReadonlySet<number> = new Set([
  601, // a scan met rows that moved
  701, // memory
  802,
  845, // a latch was not free in time
  1204, // no lock to be had
  1205, // deadlock
  1211, // deadlock within one query
  1222, // lock timeout
  1807, // a lock on a system database
  3957, // snapshots are not allowed yet, or their versions are gone
  3958,
  3959,
  3960, // a row has changed since the snapshot was taken
  3961, // the table's definition has
  3966, // the version store is full
  8628, // the optimizer's, the memory grant's and the resource semaphore's timeouts
  8645,
  8651,
  41301, // tables in memory: a dependency, an update conflict, a phantom or repeatable read failure
  41302,
  41305,
  41325,
  41839,
  THROWN.lockNotGranted,
]);

/** Notes on an error of a statement in an open transaction whether the server has rolled that back. */
export function noteTransaction(error: unknown, isEnded: boolean): void {
  if (typeof error !== "object" || error === null || Object.isFrozen(error)) return;
  Object.defineProperty(error, ENDED, { value: isEnded, configurable: true });
}

/** A symbol of the registry: the adapter and the dialect may come from two copies of the library. */
const ENDED: unique symbol = Symbol.for("intray.transaction-ended");

/** Whether the error has rolled the whole transaction back: what follows would run outside of it. */
export function endsTransaction(error: unknown): boolean {
  const noted: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, ENDED) : undefined;
  // Where nobody noted it, a transaction that is taken to be over is rolled back, and nothing is lost by it.
  return typeof noted === "boolean" ? noted : has(error, ENDS_TRANSACTION);
}

/** Conversions: of text to a time, a number, a GUID. */
const CONVERSIONS = [241, 242, 244, 245, 248, 295, 8114, 8169] as const;

const ENDS_TRANSACTION: ReadonlySet<number> = new Set<number>([
  ...CONVERSIONS,
  266, // another count of transactions than before the call
  1205, // deadlock
  1211,
  3609, // the transaction ended in the trigger
  3616, // an error in a trigger
  3930, // doomed
  3931,
  3960,
  3961,
  3966,
  3998, // was doomed at the end of the batch
  41301,
  41302,
  41305,
  41325,
  41839,
]);

/** Whether there is no transaction where there was to be one: a statement of the handler's has ended it. */
export function isTransactionOver(error: unknown): boolean {
  return has(error, TRANSACTION_OVER);
}

const TRANSACTION_OVER: ReadonlySet<number> = new Set([
  628, // SAVE TRANSACTION without a transaction
  3902, // COMMIT without one
  3903, // ROLLBACK without one
  6401, // the savepoint is not there
  THROWN.transactionOver,
]);

/** Whether a text cannot be stored: not in the column's length, in the row's, or in its encoding. */
export function isUnstorableText(error: unknown): boolean {
  return has(error, UNSTORABLE);
}

const UNSTORABLE: ReadonlySet<number> = new Set([
  511, // a row longer than a page takes
  2628, // would be truncated, with the column's name
  8152, // the same before SQL Server 2019
  9833, // no UTF-8
]);

/** See the top: none is left that only fails. */
export function isTransactionAborted(): boolean {
  return false;
}

/** Whether a settlement that fails its transaction on purpose found the claim lost. */
export function isClaimLost(error: unknown): boolean {
  return serverNumbers(error).includes(THROWN.claimLost);
}
