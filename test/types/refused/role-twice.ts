import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: another column is the group too: one column plays a role
    kind: c.text().group(),
    // expect: another column is the group too: one column plays a role
    topic: c.text().group({ fifo: true }),
  },
});
