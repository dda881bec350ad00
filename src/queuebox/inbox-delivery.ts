import { Delivery } from "../engine/delivery.ts";
import type { InboxRow } from "./message.ts";

/** A claimed message and the token that proves the claim. The handler never sees the token. */
export class InboxDelivery extends Delivery {
  readonly row: InboxRow;
  readonly token: string;
  /** Attempts that the claim itself counted; a give-back takes them off again. */
  readonly charged: number;

  constructor(row: InboxRow, token: string, charged: number) {
    super(row.id, row.aggregateId);
    this.row = row;
    this.token = token;
    this.charged = charged;
  }
}
