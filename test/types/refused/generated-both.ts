import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: generated() or generatedAlways() stands once on a column
    at: c.timestamp().generatedAlways().generated(),
  },
});
