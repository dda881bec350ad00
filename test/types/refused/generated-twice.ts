import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    // expect: generated() or generatedAlways() stands once on a column
    id: c.bigint().generated().id().generated(),
  },
});
