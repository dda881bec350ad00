import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: another column is the payload too: one column plays a role
    body: c.json().payload(),
    // expect: another column is the payload too: one column plays a role
    raw: c.bytes().payload(),
  },
});
