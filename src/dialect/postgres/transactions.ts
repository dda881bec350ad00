import type { Step } from "../../driver/connection.ts";
import type { IsolationLevel, TransactionMode } from "../../table/description.ts";
import type { Databases } from "../databases.ts";

type Begin = Extract<Step, { readonly kind: "begin" }>;

const LEVELS: { readonly [level in IsolationLevel]?: string } = {
  readCommitted: "READ COMMITTED",
  repeatableRead: "REPEATABLE READ",
  serializable: "SERIALIZABLE",
};

/** The levels that PostgreSQL opens. */
export const isolations: Databases["postgres"]["isolations"] = [
  "readCommitted",
  "repeatableRead",
  "serializable",
];

/**
 * How a transaction is opened; undefined is the session's default level.
 *
 * @throws TypeError for a level that PostgreSQL does not open.
 */
export function begin(level: IsolationLevel | TransactionMode | undefined): Begin {
  if (level === undefined) return BEGIN;
  const words = isLevel(level) ? LEVELS[level] : undefined;
  if (words === undefined) {
    throw new TypeError(`PostgreSQL opens ${isolations.join(", ")}, not ${level}`);
  }
  return {
    kind: "begin",
    text: `BEGIN ISOLATION LEVEL ${words}`,
    afterBegin: `SET TRANSACTION ISOLATION LEVEL ${words}`,
  };
}

function isLevel(level: string): level is IsolationLevel {
  return Object.hasOwn(LEVELS, level);
}

/** A bare begin() is this already; what comes after it has nothing to add, and takes no snapshot. */
const BEGIN: Begin = Object.freeze({
  kind: "begin",
  text: "BEGIN",
  afterBegin: "SHOW transaction_isolation",
});

/**
 * READ COMMITTED is said, never left to the session's default: under repeatable read a claim would fail
 * on each row that another claim took since its snapshot.
 */
export const beginReadCommitted: Begin = Object.freeze(begin("readCommitted"));
