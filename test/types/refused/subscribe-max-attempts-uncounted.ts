import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

declare const source: ConnectionSource;
const Jobs = inboxTable("jobs", {
  columns: { id: c.bigint().id(), payload: c.json<{ to: string }>().payload() },
});
const Counted = inboxTable("counted", {
  columns: { id: c.bigint().id(), attempt: c.integer().attempt(), total: c.integer() },
});
const mails = Jobs.queue({ payload: { decode: (to: string) => ({ to }), encode: String } });

new Broker(source).subscribe(
  mails,
  // expect: maxAttempts takes a table with a column marked with attempt()
  { maxAttempts: 5, deadLetter: Counted },
  () => {},
);
