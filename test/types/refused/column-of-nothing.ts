import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  columns: {
    id: c.bigint().id(),
    // expect: Type 'string' is not assignable to type 'AnyColumn'
    kind: "text",
  },
});
