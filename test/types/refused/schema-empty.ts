import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: a schema cannot have an empty name
  schema: "",
  columns: {
    id: c.bigint().id(),
  },
});
