import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: 'isolaton' does not exist in type
  isolaton: "serializable",
  columns: {
    id: c.bigint().id(),
  },
});
