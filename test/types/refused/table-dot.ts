import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

// expect: a table cannot have a dot in its name: schema and table are two settings
inboxTable("app.jobs", { columns: { id: c.bigint().id() } });
