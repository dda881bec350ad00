import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id(), body: c.json().payload() } });
// expect: 'payloads' does not exist in type
Jobs.queue({ payloads: undefined });
