import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Delivery } from "../engine/delivery.ts";
import type { HandlerFacade } from "./handler-transaction.ts";

/**
 * What a form asks of a subscription: to work rows, and to say what becomes of each. The form never
 * sees a message, a handler or a policy; the subscription never sees a lock, a lease or a statement.
 */
export interface Reaction {
  /**
   * Decodes the rows, runs the handler and applies the policies. Answers one verdict a row, in the rows'
   * order. Never rejects. `transaction` is there in transactional mode alone. When the delivery's signal
   * has aborted, nobody looks at the answer any more.
   */
  react(
    rows: readonly ClaimedRow[],
    delivery: Delivery,
    transaction: HandlerFacade | undefined,
  ): Promise<Reacted>;
  /**
   * What becomes of rows whose transaction could not commit, for a reason that is the handler's: a
   * deferred constraint, a statement that failed unseen.
   */
  failed(rows: readonly ClaimedRow[], error: unknown): Promise<readonly Verdict[]>;
}

/** What came of a handler. */
export interface Reacted {
  readonly verdicts: readonly Verdict[];
  /** The handler threw (or nothing could be decoded): what it wrote is never committed. */
  readonly threw: boolean;
}

/** In a batch any acknowledged row is enough: one transaction stands for all of them. */
export function keepsWrites({ threw, verdicts }: Reacted): boolean {
  return !threw && verdicts.some(({ kind }) => kind === "ack");
}

/** What is to become of a row; `reason` is what failed, where a policy decided. */
export type Verdict =
  | { readonly kind: "ack" | "drop"; readonly reason?: unknown }
  | { readonly kind: "retry"; readonly reason?: unknown }
  | { readonly kind: "retryAfter"; readonly delayMs: number; readonly reason?: unknown }
  | { readonly kind: "deadLetter"; readonly reason?: unknown };

/** What a form tells of its rows, for statistics, tests and whoever waits for them. */
export interface FormObserver {
  claimed(rows: readonly ClaimedRow[]): void;
  /** The database said so: the verdict is true. */
  settled(row: ClaimedRow, verdict: Verdict): void;
  /** The row went back as it was: not started, cut off, or its settlement failed. */
  returned(
    row: ClaimedRow,
    why: "unstarted" | "abandoned" | "lost" | "failed",
    error?: unknown,
  ): void;
}
