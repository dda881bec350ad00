import type { DialectErrors } from "../dialect/errors.ts";
import { SettlementError, TimeoutError, TransactionError } from "../errors.ts";

/** What the error of a completion or of its COMMIT says of the transaction. */
export interface Refusal {
  /**
   * - `lost`: the row is not this delivery's any more.
   * - `failed`: for a reason that is the handler's.
   * - `redelivery`: the database asks to try the same again.
   * - `unknown`: nobody answered; what became of it, the error does not say.
   */
  readonly kind: "lost" | "failed" | "redelivery" | "unknown";
  readonly error: unknown;
}

/** `firstFailure`: the handler's first query that failed, if one did. */
export function whatRefused(errors: DialectErrors, error: unknown, firstFailure: unknown): Refusal {
  if (error instanceof SettlementError) {
    return { kind: errors.isTransient(error.cause) ? "redelivery" : "failed", error };
  }
  if (errors.isClaimLost(error)) return { kind: "lost", error };
  if (error instanceof TransactionError) return { kind: "failed", error };
  if (error instanceof TimeoutError || errors.isSessionLost(error))
    return { kind: "unknown", error };
  if (errors.isTransient(error)) return { kind: "redelivery", error };
  if (errors.isTransactionOver?.(error) === true) {
    const explained = new TransactionError(
      "a statement of the handler ended its transaction without a word, as DDL does on MySQL (what was written until then is committed) and ON CONFLICT ROLLBACK on SQLite: nothing is settled as done. Run such statements elsewhere.",
      { cause: error },
    );
    return { kind: "failed", error: explained };
  }
  if (!errors.isTransactionAborted(error)) return { kind: "failed", error };
  const explained = new TransactionError(
    "an SQL error aborted the handler's transaction, and the handler went on without it: nothing was committed. Let the error pass, or guard the statement with a savepoint.",
    { cause: firstFailure },
  );
  return { kind: "failed", error: explained };
}

/**
 * Whether nobody knows what became of what was sent. An event of the service's own that failed (a
 * {@link SettlementError}) stands before the COMMIT, which was not sent then.
 */
export function isUnanswered(errors: DialectErrors, error: unknown): boolean {
  if (error instanceof SettlementError) return false;
  return error instanceof TimeoutError || errors.isSessionLost(error);
}
