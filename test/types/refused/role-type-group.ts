import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type decimal cannot be the group: that takes smallint, integer, bigint, text or uuid
    decimalGroup: c.decimal().group(),
  },
});
