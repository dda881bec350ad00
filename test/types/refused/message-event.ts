import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";

const Mail = inboxHeaders("mail", { columns: { id: c.bigint().id(), kind: c.text().group() } });
inboxMessage({
  headers: Mail,
  columns: { to: c.text() },
  custom: {
    // expect: a message has one event of its own, fetch: ack belongs to the headers table
    ack: async () => {},
  },
});
