import { isObject } from "../../options.ts";

/** The number that the server gave the error; undefined where the error is the driver's or a socket's. */
export function serverErrno(error: unknown): number | undefined {
  if (!isObject(error) || typeof error.errno !== "number") return undefined;
  const { errno } = error;
  // The servers' own: 1000 to 1999 and 3000 to 6999 on MySQL, 4000 to 4999 on MariaDB. 2000 to 2999 are the
  // client library's, the connector of MariaDB counts from 45000, and sockets have negative ones.
  return (errno >= 1000 && errno < 2000) || (errno >= 3000 && errno < 7000) ? errno : undefined;
}

/**
 * Whether the session is gone, or may be: then nobody knows what became of the statement. Only an error
 * that the server reported on a living session says that the statement had no effect.
 */
export function isSessionLost(error: unknown): boolean {
  const errno = serverErrno(error);
  return errno === undefined || ENDS_SESSION.has(errno);
}

const ENDS_SESSION: ReadonlySet<number> = new Set([
  1053, // the server shuts down
  1080, // forced close
  1152, // aborted connection
  1153, // a packet too large: the server closes behind it
  1158, // reading from the network
  1159,
  1160, // writing to the network
  1161,
  1184, // aborted connection
  1927, // killed (MariaDB)
  3169, // killed (MySQL)
  4031, // idle for too long (MySQL)
]);

/**
 * Whether the same again may work: a deadlock, a lock that was not free in time, a row that had changed, a
 * statement that was interrupted from outside and so says nothing of itself.
 */
export function isTransient(error: unknown): boolean {
  const errno = serverErrno(error);
  return errno !== undefined && TRANSIENT.has(errno);
}

const TRANSIENT: ReadonlySet<number> = new Set([
  1020, // the row has changed since the snapshot was taken (MariaDB)
  1028, // sorting was interrupted
  1205, // lock wait timeout
  1213, // deadlock
  1317, // interrupted: KILL QUERY, a shutdown
  1412, // the table's definition has changed
  1614, // deadlock of a branch
  1615, // to be prepared again
  1969, // longer than max_statement_time (MariaDB)
  3024, // longer than max_execution_time (MySQL)
  3058, // deadlock of user-level locks
  3101, // the group's certification refused the transaction (MySQL)
  3572, // not free, and it was not to wait (MySQL)
]);

/** Whether the error has rolled the whole transaction back: what follows would run outside of it. */
export function endsTransaction(error: unknown): boolean {
  const errno = serverErrno(error);
  if (errno === 1213 || errno === 1614 || errno === 3101) return true;
  return isObject(error) && Reflect.get(error, ENDED) === true;
}

/** On the error: it has undone the whole transaction. By name, as a service may load the library twice. */
const ENDED: unique symbol = Symbol.for("intray.transactionEnded");

/** Answers a row where a lock wait timeout undoes all of its transaction, and not its statement alone. */
export const timeoutEnds = "SELECT 1 AS ends FROM DUAL WHERE @@innodb_rollback_on_timeout = 1";

export function isLockTimeout(error: unknown): boolean {
  return serverErrno(error) === 1205;
}

/** From now on the error is known as one that has ended its transaction. */
export function endedTransaction(error: unknown): void {
  if (isObject(error)) Reflect.defineProperty(error, ENDED, { value: true });
}

/** Whether a savepoint is gone: a statement of the handler's has ended the transaction, as DDL does. */
export function isTransactionOver(error: unknown): boolean {
  return serverErrno(error) === 1305 && String(error).includes("intray_");
}

/** Whether a text cannot be stored: not in the column's character set, or not in its length. */
export function isUnstorableText(error: unknown): boolean {
  const errno = serverErrno(error);
  return errno === 1366 || errno === 1406 || errno === 1300 || errno === 3854;
}

/** An error undoes its own statement, or all of the transaction: none leaves one that only fails. */
export function isTransactionAborted(): boolean {
  return false;
}
