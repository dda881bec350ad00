import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: a table needs one id column: mark it with id()
  columns: { name: c.text() },
});
