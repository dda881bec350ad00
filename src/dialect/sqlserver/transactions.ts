import type { Step } from "../../driver/connection.ts";
import type { IsolationLevel, TransactionMode } from "../../table/description.ts";

type Begin = Extract<Step, { readonly kind: "begin" }>;

/** The levels that SQL Server opens; `snapshot` where the database allows it. */
export const isolations = [
  "readUncommitted",
  "readCommitted",
  "repeatableRead",
  "serializable",
  "snapshot",
] as const;

const WORDS: { readonly [level: string]: string } = {
  readUncommitted: "READ UNCOMMITTED",
  readCommitted: "READ COMMITTED",
  repeatableRead: "REPEATABLE READ",
  serializable: "SERIALIZABLE",
  snapshot: "SNAPSHOT",
};

const LEVEL = "SET TRANSACTION ISOLATION LEVEL";

/**
 * The level of what runs outside of a transaction of ours, and what a session is left with: it keeps its last one,
 * and READPAST, for one, is refused at SERIALIZABLE and SNAPSHOT.
 */
export const READ_COMMITTED: string = `${LEVEL} READ COMMITTED`;

/**
 * How a transaction is opened: all that a transaction depends on is said, each time, since each is a setting of
 * the session, and a pooled session has those that its last user left.
 *
 * - The level: READ COMMITTED where none is asked for. `sp_reset_connection` did not reset it before SQL Server
 *   2014, and the pools of `tedious` do not send one.
 * - NOCOUNT OFF: with it on, which a server can make the default, no statement says how many rows it changed.
 * - XACT_ABORT. ON in the library's own transactions ({@link beginShort}): whatever fails ends them whole.
 *   OFF, the server's own default and that of the applications on these drivers, where a handler works or
 *   savepoints are gone back to: an error such as a broken constraint undoes its own statement, and a handler
 *   may catch it. With it on, each such error would end the transaction, and with it the row locks of the claim:
 *   a message whose handler met one could not be settled by who has it. What it would give instead, an end of
 *   the transaction when the client gives a statement up, the adapter gives by closing the connection.
 *
 * With XACT_ABORT off a statement of several goes on behind an error within it (the error is still thrown, and the
 * transaction rolled back by who gets it). Text of several statements that may run outside of a transaction
 * must not rely on what the session has: it begins with `SET XACT_ABORT ON`, which ends with the statement where
 * that has parameters (it then runs within `sp_executesql`), or stands in TRY ... CATCH with a THROW.
 *
 * The text is a batch of its own: within `sp_executesql` the settings would end with it, and a transaction that
 * is open at its end is error 266.
 *
 * @throws TypeError for what is no level of SQL Server.
 */
export function begin(level: IsolationLevel | TransactionMode | undefined): Begin {
  return beginWith("OFF", level ?? "readCommitted");
}

/** A transaction of the library's own: an error of any kind rolls back all of it, on the server already. */
export const beginShort: Begin = Object.freeze(beginWith("ON", "readCommitted"));

function beginWith(xactAbort: "ON" | "OFF", level: IsolationLevel | TransactionMode): Begin {
  const words = WORDS[level];
  if (words === undefined) {
    throw new TypeError(`SQL Server opens ${isolations.join(", ")}, not ${level}`);
  }
  const before = `SET NOCOUNT OFF; SET XACT_ABORT ${xactAbort}; ${LEVEL} ${words}`;
  return { kind: "begin", text: `${before}; BEGIN TRANSACTION`, beforeBegin: before };
}

/**
 * What a batch begins with that catches an error and goes on, in a transaction of the library's own too: with
 * XACT_ABORT on, an error that is caught leaves one that can only be rolled back. Like every SET it ends with a
 * batch that has parameters.
 */
export const GOING_ON = "SET XACT_ABORT OFF;";
