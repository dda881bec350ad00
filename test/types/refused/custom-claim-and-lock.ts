import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  advisoryLock: "{id}",
  custom: {
    // expect: custom.claim and advisoryLock do not go together: the claim takes the locks
    claim: async () => [],
  },
  columns: {
    id: c.bigint().id(),
  },
});
