import type { Step } from "../../driver/connection.ts";

/**
 * How a transaction is opened. READ COMMITTED is said, never left to the session's default: under
 * repeatable read a claim would fail on each row that another claim took since its snapshot.
 */
export const beginReadCommitted: Extract<Step, { readonly kind: "begin" }> = Object.freeze({
  kind: "begin",
  text: "BEGIN ISOLATION LEVEL READ COMMITTED",
  afterBegin: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
});
