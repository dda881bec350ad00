import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

declare const source: ConnectionSource;

const Orders = inboxTable("orders", {
  columns: {
    id: c.bigint().id().generated(),
    shop: c.text().group({ fifo: true }),
    total: c.integer(),
    note: c.text().nullable(),
  },
});
const ada = Orders.queue("ada");

// The queue says the group, and a row may say the same.
expectType<
  Equal<
    typeof ada.$input,
    {
      id?: bigint | undefined;
      total: number;
      note?: string | null | undefined;
      shop?: string | undefined;
    }
  >
>(true);
expectType<Equal<Awaited<ReturnType<typeof insertOrders>>, readonly bigint[]>>(true);
function insertOrders() {
  return ada.insert(source, [{ total: 5 }, { total: 6, shop: "ada", note: "n" }]);
}
void new Broker(source).publish(ada, { total: 5 });
new Broker(source).subscribe(Orders.everyGroup(), (order) => {
  expectType<Equal<typeof order, { id: bigint; shop: string; total: number; note: string | null }>>(
    true,
  );
});
