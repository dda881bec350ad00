import { TransactionError } from "../errors.ts";

/** PostgreSQL's answer to COMMIT in a transaction that it had aborted before. */
export function commitRefused(): TransactionError {
  return new TransactionError(
    "PostgreSQL answered COMMIT with ROLLBACK: an earlier statement of the transaction had failed and its error was caught or not awaited. Nothing was committed. Let the error pass, or guard the statement with a savepoint.",
  );
}
