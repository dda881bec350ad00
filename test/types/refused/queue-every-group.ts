import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id(), kind: c.text().group() } });
// expect: everyGroup() needs a column marked with group({ fifo: true })
Jobs.everyGroup();
