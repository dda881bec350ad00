import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Connection, QueryResult } from "../driver/connection.ts";
import { SessionDelivery } from "./session-delivery.ts";

/** Rows whose keys a session has locked. */
export class AdvisoryDelivery extends SessionDelivery {
  /** Each once: what the dialect's `unlock` takes. */
  readonly locks: readonly string[];
  /** The locks were released, and the database said so. */
  isUnlocked = false;

  constructor(rows: readonly ClaimedRow[], connection: Connection, locks: readonly string[]) {
    super(rows, connection);
    this.locks = [...new Set(locks)];
  }

  /** Reads the answers to unlocking; true where each lock is confirmed. */
  unlocked(results: readonly QueryResult[]): boolean {
    const isConfirmed = results.every(({ rows }) => isTrue(rows[0]?.released));
    this.isUnlocked = isConfirmed && results.length === this.locks.length;
    return this.isUnlocked;
  }
}

/** Drivers answer truth as true, 1, "1" or "t". */
function isTrue(value: unknown): boolean {
  return [true, 1, 1n, "1", "t", "true"].some((each) => each === value);
}
