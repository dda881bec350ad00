import { inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";

const Jobs = inboxTable("jobs", { columns: { id: c.bigint().id() } });
inboxMessage({
  // expect: headers takes a table made by inboxHeaders
  headers: Jobs,
  columns: { to: c.text() },
});
