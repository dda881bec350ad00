import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

inboxTable("jobs", {
  // expect: advisoryLock has a placeholder {area} of type custom, whose values have no one text: name a column of another type
  advisoryLock: "jobs-{id}-{area}",
  columns: { id: c.bigint().id(), area: c.custom({ decode: Number, encode: String }) },
});
