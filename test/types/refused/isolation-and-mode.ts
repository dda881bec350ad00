import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: isolation and mode do not go together: mode is for SQLite, isolation for the others
  isolation: "serializable",
  mode: "immediate",
  columns: {
    id: c.bigint().id(),
  },
});
