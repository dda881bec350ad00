import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: is not assignable to type
  clock: "host",
  columns: {
    id: c.bigint().id(),
  },
});
