import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: 'colums' does not exist in type
  colums: { id: c.bigint().id() },
});
