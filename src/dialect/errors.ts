/** What a database's errors mean. */
export interface DialectErrors {
  /** The session is gone or in doubt: nobody knows what became of the statement. */
  isSessionLost(error: unknown): boolean;
  /** The same again may work: deadlocks, serialization failures, locks that were not free. */
  isTransient(error: unknown): boolean;
  /** The text cannot be stored in the database's encoding. */
  isUnstorableText(error: unknown): boolean;
  /** An earlier error aborted the transaction. */
  isTransactionAborted(error: unknown): boolean;
  /** A settlement that fails its transaction on purpose found the claim lost. */
  isClaimLost(error: unknown): boolean;
}
