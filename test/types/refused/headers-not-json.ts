import { inboxHeaders } from "../../../src/broker/inbox-headers.ts";
import { c } from "../../../src/table/columns.ts";

// expect: a column of type text cannot be the headers: that takes json
inboxHeaders("m", { columns: { id: c.bigint().id(), meta: c.text().headers() } });
