import { Broker } from "../../../src/broker/broker.ts";
import { inboxHeaders, inboxMessage } from "../../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { c } from "../../../src/table/columns.ts";

declare const source: ConnectionSource<"postgres">;
const columns = { id: c.bigint().id(), kind: c.text().group(), payload: c.json().payload() };
const Jobs = inboxTable("jobs", {
  columns,
  custom: { ack: { postgres: async () => 1 }, retry: { sqlite: async () => 1 } },
});
const Letter = inboxMessage({
  headers: inboxHeaders("mail", { columns: { id: c.bigint().id() } }),
  columns: { body: c.text() },
  custom: { fetch: { mysql: async () => [], sqlite: async () => [] } },
});

const broker = new Broker(source);
broker.subscribe(
  // expect: the custom event retry has no function for postgres
  Jobs.queue("a"),
  () => {},
);
broker.route(
  "a",
  // expect: the custom event fetch has no function for postgres
  Letter.queue(),
);
