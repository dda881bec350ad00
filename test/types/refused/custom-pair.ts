import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  advisoryLock: "{id}",
  custom: {
    // expect: custom.lock needs custom.unlock beside it
    lock: async () => true,
  },
  columns: {
    id: c.bigint().id(),
  },
});
