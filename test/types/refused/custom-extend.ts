import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  custom: {
    // expect: custom.extend needs a lease: mark a column with lockedUntil()
    extend: async () => true,
  },
  columns: {
    id: c.bigint().id(),
  },
});
