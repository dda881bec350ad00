import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

declare const source: ConnectionSource;
const Jobs = inboxTable("jobs", {
  columns: { id: c.bigint().id(), payload: c.json<{ to: string }>().payload() },
});
const mails = Jobs.queue({ payload: { decode: (to: string) => ({ to }), encode: String } });

new Broker(source).subscribe(
  mails,
  { batch: 5 },
  // expect: not assignable to type
  (messages) => messages.map(() => "done"),
);
