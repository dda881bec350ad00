import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type integer cannot be the payload: that takes bytes, text or json
    integerPayload: c.integer().payload(),
  },
});
