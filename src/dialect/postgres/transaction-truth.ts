import type { TransactionStatements } from "../dialect.ts";

/**
 * A transaction's own id tells what became of it when the answer to its COMMIT is lost. These names are
 * older than `pg_xact_status` (PostgreSQL 13), and later versions have them too.
 */
export const transactionStatements: TransactionStatements = {
  id: { text: "SELECT txid_current()::text AS id", params: [] },
  // An empty claim must not use up an id each time it looks.
  idIfAny: { text: "SELECT txid_current_if_assigned()::text AS id", params: [] },
  status: { text: "SELECT txid_status($1::text::bigint) AS status", params: ["id"] },
};

/** Deferred constraints speak now, and not at COMMIT. */
export const checkDeferred = "SET CONSTRAINTS ALL IMMEDIATE";
