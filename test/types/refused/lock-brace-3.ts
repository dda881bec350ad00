import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock has a brace without its other half
  advisoryLock: "{id}}",
  columns: {
    id: c.bigint().id(),
  },
});
