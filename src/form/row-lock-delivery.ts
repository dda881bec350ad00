import type { ClaimedRow } from "../dialect/dialect.ts";
import type { Connection } from "../driver/connection.ts";
import { SessionDelivery } from "./session-delivery.ts";

/** Rows that an open transaction has locked. */
export class RowLockDelivery extends SessionDelivery {
  /** The transaction's own id, where the database tells. */
  readonly transactionId: string | undefined;

  constructor(rows: readonly ClaimedRow[], connection: Connection, id: string | undefined) {
    super(rows, connection);
    this.transactionId = id;
  }
}
