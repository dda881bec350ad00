import type { Delivery } from "./delivery.ts";

/**
 * What the engine asks of a form of holding rows: to claim them, to work one and settle it, and to
 * give back what was never started. No SQL passes through here.
 */
export interface Work<D extends Delivery> {
  /**
   * Runs once before the first claim: looks whether the table is there and fits. Rejects with a
   * {@link FatalError} to end the subscription; any other rejection is an outage and is tried again.
   */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Claims up to `limit` rows. After `signal` aborts nobody waits for rows any more: what still was
   * claimed comes back to be given back.
   */
  claim(limit: number, signal: AbortSignal): Promise<Claim<D>>;
  /** Runs the handler and settles. Never rejects: what goes wrong is part of the settlement. */
  perform(delivery: D): Promise<Performance>;
  /** Gives back rows whose handler never started. Never rejects. */
  giveBack(deliveries: readonly D[]): Promise<void>;
  /** The subscription has ended: no timer and no connection of it stays, whatever was left behind. */
  close(): Promise<void>;
}

export interface Claim<D> {
  readonly deliveries: readonly D[];
  /**
   * What the claim knows of the rows behind: `more` may be claimable now, `empty` until the next poll
   * or wake-up, or worth another look after some milliseconds.
   */
  readonly rest: "more" | "empty" | { readonly afterMs: number };
}

/**
 * `unavailable`: the database could not be reached to start the handler, or asks to try the settlement
 * again; the row went back, and claims back off.
 */
export type Performance = "settled" | "unavailable";

/** Ends a subscription: claiming again cannot help. */
export class FatalError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = "FatalError";
  }
}
