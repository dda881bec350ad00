import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";

const Mail = inboxHeaders("mail", { columns: { id: c.bigint().id(), kind: c.text().group() } });
inboxMessage({
  headers: Mail,
  columns: { to: c.text() },
  // expect: a message has no mode: that is an option of the headers table
  mode: "immediate",
});
