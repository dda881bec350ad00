import type { Step } from "../../driver/connection.ts";
import type { IsolationLevel, TransactionMode } from "../../table/description.ts";

type Begin = Extract<Step, { readonly kind: "begin" }>;

const MODES: { readonly [mode in TransactionMode]: string } = {
  deferred: "BEGIN DEFERRED",
  immediate: "BEGIN IMMEDIATE",
  exclusive: "BEGIN EXCLUSIVE",
};

/** The modes that SQLite opens. */
export const modes = ["deferred", "immediate", "exclusive"] as const;

/**
 * How a transaction is opened; undefined is SQLite's own default, deferred.
 *
 * @throws TypeError for a level: SQLite's transactions are serializable, all of them.
 */
export function begin(mode: IsolationLevel | TransactionMode | undefined): Begin {
  if (mode === undefined) return BEGIN;
  if (!isMode(mode)) throw new TypeError(`SQLite opens ${modes.join(", ")}, not ${mode}`);
  // Nothing turns an open transaction into another kind: a bare begin() stays what it is, and the
  // library's statements write first, so that it waits for the file no later than they would.
  return { kind: "begin", text: MODES[mode], afterBegin: NOTHING };
}

function isMode(mode: string): mode is TransactionMode {
  return Object.hasOwn(MODES, mode);
}

const NOTHING = "SELECT 1 WHERE 0";

const BEGIN: Begin = Object.freeze({ kind: "begin", text: "BEGIN", afterBegin: NOTHING });
