import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

declare const source: ConnectionSource;
const Counted = inboxTable("counted", {
  columns: { id: c.bigint().id(), attempt: c.integer().attempt(), total: c.integer() },
});

new Broker(source).subscribe(Counted.queue(), (row) => {
  // expect: Property 'to' does not exist on type
  row.to;
});
