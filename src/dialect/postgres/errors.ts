import { isObject } from "../../options.ts";

/** The five characters that say what went wrong, where the server said so. */
export function sqlState(error: unknown): string | undefined {
  if (!isObject(error) || typeof error.code !== "string") return undefined;
  // Sockets have codes too, and EPIPE is five capitals: a state's class is what tells them apart.
  return /^(\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/.test(error.code) ? error.code : undefined;
}

/**
 * Whether the session is gone, or may be: then nobody knows what became of the statement. Only an
 * error that the server reported on a living session says that the statement had no effect.
 */
export function isSessionLost(error: unknown): boolean {
  if (sqlState(error) === undefined) return true;
  if (isObject(error) && (error.severity === "FATAL" || error.severity === "PANIC")) return true;
  return endsSession(error);
}

/**
 * Whether the same again may work: a deadlock, a serialization failure, a lock that was not free, a
 * row that moved to another partition.
 */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith("40") || state === "55P03");
}

/** Whether a text cannot be stored: not in the database's encoding, or not in the column's length. */
export function isUnstorableText(error: unknown): boolean {
  const state = sqlState(error);
  return state === "22021" || state === "22P05" || state === "22001";
}

/** Whether statements fail because the transaction was aborted by an earlier error in it. */
export function isTransactionAborted(error: unknown): boolean {
  return sqlState(error) === "25P02";
}

/**
 * Whether the server ends the session by the error: a shutdown, a crash, a drop of the database, a broken
 * connection (57P0x, 08xxx), a time limit on what idles or on a transaction (25P03, 25P04, 57P05).
 */
export function endsSession(error: unknown): boolean {
  return /^(57P0|08|25P0[34])/.test(sqlState(error) ?? "");
}
