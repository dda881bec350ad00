import { Delivery } from "../engine/delivery.ts";
import type { InboxRow } from "./message.ts";

/** A claimed message and the token that proves the claim. The handler never sees the token. */
export class InboxDelivery extends Delivery {
  readonly row: InboxRow;
  readonly token: string;
  /** When the database says it was claimed: what tells this claim from all others once it is over. */
  readonly claimedAt: string;
  /** Attempts that the claim itself counted; a give-back takes them off again. */
  readonly charged: number;

  constructor(row: InboxRow, { token, claimedAt, charged }: InboxClaimed) {
    super(row.id, row.aggregateId);
    this.row = row;
    this.token = token;
    this.claimedAt = claimedAt;
    this.charged = charged;
  }
}

interface InboxClaimed {
  readonly token: string;
  readonly claimedAt: string;
  readonly charged: number;
}
