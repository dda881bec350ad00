import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock has an empty placeholder: name a property of columns between the braces
  advisoryLock: "jobs-{}",
  columns: {
    id: c.bigint().id(),
  },
});
