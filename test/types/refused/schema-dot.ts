import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: a schema cannot have a dot in its name: schema and table are two settings
  schema: "db.app",
  columns: {
    id: c.bigint().id(),
  },
});
