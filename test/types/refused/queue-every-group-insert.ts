import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", {
  columns: { id: c.bigint().id(), kind: c.text().group({ fifo: true }) },
});
// expect: Property 'insert' does not exist
Jobs.everyGroup().insert({}, { id: 1n, kind: "a" });
