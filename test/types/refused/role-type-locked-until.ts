import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: a column of type bigint cannot be the lockedUntil: that takes timestamp
    bigintLockedUntil: c.bigint().lockedUntil(),
  },
});
