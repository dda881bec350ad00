import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type boolean cannot be the processedAt: that takes timestamp
    booleanProcessedAt: c.boolean().processedAt(),
  },
});
