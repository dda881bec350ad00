import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    // expect: an id cannot be null
    id: c.bigint().nullable().id(),
  },
});
