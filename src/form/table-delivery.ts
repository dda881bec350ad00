import type { ClaimedRow } from "../dialect/dialect.ts";
import { Delivery } from "../engine/delivery.ts";

/** One handler call's worth of rows; each form adds what it holds them by. */
export class TableDelivery extends Delivery {
  readonly rows: readonly ClaimedRow[];

  constructor(rows: readonly ClaimedRow[]) {
    const [first] = rows;
    const others = rows.length > 1 ? ` and ${rows.length - 1} more` : "";
    super(`${first?.id}${others}`, rows.find(({ key }) => key !== null)?.key ?? null);
    this.rows = rows;
  }
}
