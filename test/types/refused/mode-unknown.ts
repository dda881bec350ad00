import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: mode takes deferred, immediate or exclusive
  mode: "concurrent",
  columns: {
    id: c.bigint().id(),
  },
});
