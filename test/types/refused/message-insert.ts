import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";

const Mail = inboxHeaders("mail", { columns: { id: c.bigint().id(), kind: c.text().group() } });
const To = inboxMessage({ headers: Mail, columns: { to: c.text() } });
// expect: Property 'insert' does not exist
To.insert({}, { to: "a" });
