import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id(), kind: c.text().group() } });
// expect: Expected 1-2 arguments, but got 0
Jobs.queue();
