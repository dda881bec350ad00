import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    // expect: a column of type boolean cannot be the id: that takes smallint, integer, bigint, text, uuid or decimal
    booleanId: c.boolean().id(),
  },
});
