/** A service's process with a broker on a table of each form, which works, stops, and has nothing left to do. */
import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { c } from "../../../src/table/columns.ts";
import { until } from "../../support/until.ts";
import { connectAs } from "./connect.ts";
import { endWell, endWithTest } from "./ending.ts";
import type { BrokerSettings } from "./protocol.ts";

const { connections, kind, url }: BrokerSettings = JSON.parse(process.argv[2] ?? "");
endWithTest();

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  payload: c.text().payload(),
};
const tables = [
  inboxTable("lease_jobs", { columns: { ...columns, lease: c.timestamp().lockedUntil() } }),
  inboxTable("lock_jobs", { columns }),
  inboxTable("advisory_jobs", { columns, advisoryLock: "job-{id}" }),
];

const { end, source } = connectAs(kind, url, connections);
Object.assign(source, { database: "postgres" });
const connection = await source.connect();
for (const table of tables) {
  for (const statement of table.ddl("postgres")) await connection.query(statement);
}
await connection.release();

const broker = new Broker(source, { listenNotify: source.listen !== undefined });
let lingering = 0;
for (const table of tables) {
  const queue = table.queue();
  broker.subscribe(queue, { workers: 2, transactional: true }, async (message, { signal, tx }) => {
    await tx.sql`SELECT 1`;
    if (message !== "lingers") return;
    lingering += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  await broker.publish(queue, "lingers");
  await broker.publish(queue, "passes");
}
await broker.start();
await until(() => lingering === 3 && broker.stats().every(({ settled }) => settled.ack === 1));
await broker.stop({ graceMs: 10 });
await end();
endWell();
