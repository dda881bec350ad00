import type { Statement } from "./statement.ts";

/** A statement of the inbox: its text, and the names of its positional parameters in order. */
export interface InboxStatement extends Statement {}

/** The five statements that make a worker, in any language. */
export interface InboxStatements {
  /** Takes up to `batch` messages: source, batch, leaseMs, candLimit. */
  readonly claim: InboxStatement;
  /** Moves a lease's end to `leaseMs` from now: leaseMs, id, token. */
  readonly renew: InboxStatement;
  /** The message is done: id, token. */
  readonly complete: InboxStatement;
  /** The message comes again after `delayMs`: delayMs, error, id, token. */
  readonly retry: InboxStatement;
  /** The message is given up: error, id, token. */
  readonly dead: InboxStatement;
}

/** How many rows a claim looks at for a batch: three times the batch, at least 50, at most 500. */
export function candidateLimit(batch: number): number {
  return Math.min(500, Math.max(50, 3 * batch));
}
