import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import { SessionDelivery } from "./session-delivery.ts";

/** Rows that an open transaction has locked. */
export class RowLockDelivery extends SessionDelivery {
  #isHeldAnew = false;
  #transactionId: string | undefined;

  constructor(rows: readonly ClaimedRow[], connection: Connection, id: string | undefined) {
    super(rows, connection);
    this.#transactionId = id;
  }

  /** The transaction's own id, where the database tells. */
  get transactionId(): string | undefined {
    return this.#transactionId;
  }

  /** The rows were taken again, by a transaction that is not the claim's. */
  get isHeldAnew(): boolean {
    return this.#isHeldAnew;
  }

  /** These of the rows are held by another transaction now. */
  heldAnew(rows: readonly ClaimedRow[], id: string | undefined): void {
    this.keep(rows);
    this.#transactionId = id;
    this.#isHeldAnew = true;
  }
}
