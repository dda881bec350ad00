import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: isolation takes readUncommitted, readCommitted, repeatableRead, serializable or snapshot
  isolation: "read committed",
  columns: {
    id: c.bigint().id(),
  },
});
