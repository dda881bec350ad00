import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  custom: {
    // expect: custom.lock needs advisoryLock
    lock: async () => true,
    // expect: custom.unlock needs advisoryLock
    unlock: async () => true,
  },
  columns: {
    id: c.bigint().id(),
  },
});
