import { isObject } from "../../options.ts";

/**
 * SQLite's name for what went wrong, such as SQLITE_BUSY_SNAPSHOT. better-sqlite3, libsql and Bun give it as
 * `code`; node:sqlite gives the number alone, as `errcode`.
 */
function codeOf(error: unknown): string {
  if (!isObject(error)) return "";
  const { code, errcode } = error;
  if (typeof code === "string" && code.startsWith("SQLITE_")) return code;
  return typeof errcode === "number" ? (PRIMARY.get(errcode & 0xff) ?? "") : "";
}

const PRIMARY: ReadonlyMap<number, string> = new Map([
  [5, "SQLITE_BUSY"],
  [6, "SQLITE_LOCKED"],
  [8, "SQLITE_READONLY"],
  [10, "SQLITE_IOERR"],
  [11, "SQLITE_CORRUPT"],
  [13, "SQLITE_FULL"],
]);

/**
 * Never: a statement runs in this process, and its error says what became of it. Only a driver that is not
 * SQLite's own (a closed database, say) speaks without a code, and it has done nothing then.
 */
export function isSessionLost(): boolean {
  return false;
}

/** Whether the file was locked by another connection: the same again may work. */
export function isTransient(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED");
}

/** SQLite stores whatever text it is given. */
export function isUnstorableText(): boolean {
  return false;
}

/** On the error: it has undone the whole transaction. By name, as a service may load the library twice. */
const ENDED: unique symbol = Symbol.for("intray.transactionEnded");

/** The error, known from now on as one that has ended its transaction. */
export function endedTransaction(error: unknown): unknown {
  if (isObject(error)) Reflect.defineProperty(error, ENDED, { value: true });
  return error;
}

/** Whether the error has rolled the whole transaction back: what follows would run outside of it. */
export function endsTransaction(error: unknown): boolean {
  return isObject(error) && Reflect.get(error, ENDED) === true;
}

/** Whether a savepoint is gone: a statement of the handler's has ended the transaction. */
export function isTransactionOver(error: unknown): boolean {
  return String(error).includes("no such savepoint: intray_");
}

/** An error undoes its own statement, or all of the transaction: none leaves one that only fails. */
export function isTransactionAborted(): boolean {
  return false;
}
