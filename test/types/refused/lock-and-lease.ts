import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock and lockedUntil() are two forms: keep one of them
  advisoryLock: "jobs-{id}",
  columns: {
    id: c.bigint().id(),
    until: c.timestamp().lockedUntil(),
  },
});
