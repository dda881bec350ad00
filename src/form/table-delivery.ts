import type { ClaimedRow } from "../dialect/dialect.ts";
import { Delivery } from "../engine/delivery.ts";

/** One handler call's worth of rows; each form adds what it holds them by. */
export class TableDelivery extends Delivery {
  #rows: readonly ClaimedRow[];

  constructor(rows: readonly ClaimedRow[]) {
    const [first] = rows;
    const others = rows.length > 1 ? ` and ${rows.length - 1} more` : "";
    super(`${first?.id}${others}`, rows.find(({ key }) => key !== null)?.key ?? null);
    this.#rows = rows;
  }

  get rows(): readonly ClaimedRow[] {
    return this.#rows;
  }

  /** The others are not this delivery's any more. */
  protected keep(rows: readonly ClaimedRow[]): void {
    this.#rows = rows;
  }
}
