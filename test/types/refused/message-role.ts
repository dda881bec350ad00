import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";

const Mail = inboxHeaders("mail", { columns: { id: c.bigint().id(), kind: c.text().group() } });
inboxMessage({
  headers: Mail,
  columns: {
    // expect: a message has no priority: that is a column of the headers table
    urgency: c.integer().priority(),
  },
});
