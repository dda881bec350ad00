/** A service's process with a broker on a table of each form, which works, stops, and has nothing left to do. */
import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import { dialectNamed } from "../../../src/dialect/dialects.ts";
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
const all = [
  inboxTable("lease_jobs", { columns: { ...columns, lease: c.timestamp().lockedUntil() } }),
  inboxTable("lock_jobs", { columns }),
  inboxTable("advisory_jobs", { columns, advisoryLock: "job-{id}" }),
];

const { end, source } = connectAs(kind, url, connections);
// What a source made by hand would say of itself.
const { database = "postgres" } = source;
Object.assign(source, { database });
const { forms } = dialectNamed(database).features;
const tables = all.filter(({ description }) => forms.includes(description.form));
const connection = await source.connect();
for (const table of tables) {
  for (const statement of table.ddl(database)) await connection.query(statement);
}
await connection.release();

const broker = new Broker(source, { listenNotify: source.listen !== undefined });
let lingering = 0;
for (const table of tables) {
  const queue = table.queue();
  const handler = async (message: unknown, signal: AbortSignal) => {
    if (message !== "lingers") return;
    lingering += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  // A transaction that lingers would keep all else from a file, which has one writer.
  if (database === "sqlite") {
    broker.subscribe(queue, { workers: 2 }, (message, { signal }) => handler(message, signal));
  } else {
    broker.subscribe(
      queue,
      { workers: 2, transactional: true },
      async (message, { signal, tx }) => {
        await tx.sql`SELECT 1`;
        await handler(message, signal);
      },
    );
  }
  await broker.publish(queue, "lingers");
  await broker.publish(queue, "passes");
}
await broker.start();
await until(
  () => lingering === tables.length && broker.stats().every(({ settled }) => settled.ack === 1),
);
await broker.stop({ graceMs: 10 });
await end();
endWell();
