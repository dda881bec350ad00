import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    // expect: another column is the id too: one column plays a role
    id: c.bigint().id(),
    // expect: another column is the id too: one column plays a role
    other: c.uuid().id(),
    name: c.text(),
  },
});
