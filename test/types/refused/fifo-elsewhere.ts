import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: fifo is an option of group() alone
    lane: c.text().partitionKey({ fifo: true }),
    // expect: fifo is an option of group() alone
    tries: c.integer().attempt({ fifo: true }),
  },
});
