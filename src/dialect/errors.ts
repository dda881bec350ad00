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
  /**
   * The error has rolled the whole transaction back, and what follows would run outside of it: a deadlock, on
   * some databases. Default: none does.
   */
  endsTransaction?(error: unknown): boolean;
  /** The `mark` of the transaction is gone: a statement has ended it. Default: none is. */
  isTransactionOver?(error: unknown): boolean;
  /** A settlement that fails its transaction on purpose found the claim lost. */
  isClaimLost(error: unknown): boolean;
}
