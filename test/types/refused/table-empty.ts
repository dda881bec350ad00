import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

// expect: a table cannot have an empty name
inboxTable("", { columns: { id: c.bigint().id() } });
