import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type text cannot be the attempt: that takes smallint, integer or bigint
    textAttempt: c.text().attempt(),
  },
});
