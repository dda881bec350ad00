import type { ClaimedRow } from "../dialect/dialect.ts";
import { TableDelivery } from "./table-delivery.ts";
import type { EventRow } from "./table-events.ts";

/**
 * A leased row, and the token that proves it.
 *
 *     held --settlement sent--> settling --answered--> over
 *      |  \<----- it failed -------/
 *      \--locked by its own transaction--> locked --> over
 *
 * An extension asks for held rows alone: of one that settles it could only learn that it is gone, and
 * it would change the token under the settlement's hands.
 */
export class LeasedRow implements EventRow {
  readonly row: ClaimedRow;
  readonly id: string;
  readonly attempt: string | null;
  token: string | null;
  state: "held" | "settling" | "locked" | "over" = "held";

  constructor(row: ClaimedRow) {
    this.row = row;
    this.id = row.id;
    this.attempt = row.attempt;
    this.token = row.token;
  }
}

/** Leased rows for one handler call. */
export class LeaseDelivery extends TableDelivery {
  readonly leased: readonly LeasedRow[];
  /** The extension that is under way with rows of this delivery; it may give them new tokens. */
  extension: Promise<void> | undefined;

  constructor(rows: readonly ClaimedRow[]) {
    super(rows);
    this.leased = rows.map((row) => new LeasedRow(row));
  }

  /**
   * From here on no extension changes the tokens of these rows: waits for the one that is under way.
   * An extension ends within the keeper's interval, whatever becomes of it.
   */
  async freeze(): Promise<void> {
    while (this.extension !== undefined) await this.extension;
    for (const row of this.leased) if (row.state === "held") row.state = "settling";
  }

  /** The settlement did not come about: the rows are to be kept further. */
  thaw(): void {
    for (const row of this.leased) if (row.state !== "over") row.state = "held";
  }
}
