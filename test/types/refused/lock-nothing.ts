import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock cannot be empty
  advisoryLock: "",
  columns: {
    id: c.bigint().id(),
  },
});
