import type { Step } from "../../driver/connection.ts";
import type { IsolationLevel, TransactionMode } from "../../table/description.ts";

type Begin = Extract<Step, { readonly kind: "begin" }>;

/** The levels that MySQL and MariaDB open. */
export const isolations = [
  "readUncommitted",
  "readCommitted",
  "repeatableRead",
  "serializable",
] as const;

const WORDS: { readonly [level: string]: string } = {
  readUncommitted: "READ UNCOMMITTED",
  readCommitted: "READ COMMITTED",
  repeatableRead: "REPEATABLE READ",
  serializable: "SERIALIZABLE",
};

/**
 * How a transaction is opened. A level is said before, for the next transaction alone: the session keeps its
 * own. Without one it is READ COMMITTED, and not the server's REPEATABLE READ, whose gap locks keep other
 * workers from rows that nobody has.
 *
 * @throws TypeError for what is no level of these databases.
 */
export function begin(level: IsolationLevel | TransactionMode | undefined): Begin {
  const words = WORDS[level ?? "readCommitted"];
  if (words === undefined)
    throw new TypeError(`MySQL opens ${isolations.join(", ")}, not ${level}`);
  const before = `SET TRANSACTION ISOLATION LEVEL ${words}`;
  return { kind: "begin", text: `${before}; START TRANSACTION`, beforeBegin: before };
}
