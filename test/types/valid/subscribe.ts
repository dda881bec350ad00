import { Broker } from "../../../src/broker/broker.ts";
import { inboxTable } from "../../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../../src/driver/connection.ts";
import { ack, deadLetter, retryAfter } from "../../../src/outcome.ts";
import { c } from "../../../src/table/columns.ts";
import { type Equal, expectType } from "../expect-type.ts";

declare const source: ConnectionSource;

const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    name: c.text().group(),
    attempt: c.integer().attempt(),
    lane: c.text().partitionKey(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});
const Orders = inboxTable("orders", {
  columns: { id: c.uuid().id(), total: c.integer() },
});
const texts = Jobs.queue("texts", {
  payload: { decode: (stored: string) => stored.length, encode: (n: number) => String(n) },
});
const broker = new Broker(source);

broker.subscribe(texts, (message, context) => {
  expectType<Equal<typeof message, number>>(true);
  expectType<Equal<typeof context.id, bigint>>(true);
  expectType<Equal<typeof context.attempt, number | undefined>>(true);
});
broker.subscribe(Orders.queue(), async (order, { id }) => {
  expectType<Equal<typeof order, { id: string; total: number }>>(true);
  expectType<Equal<typeof id, string>>(true);
  return order.total > 5 ? retryAfter("5m") : ack();
});
broker.subscribe(Jobs.queue("a"), { transactional: true }, async (message, { tx }) => {
  expectType<Equal<typeof message, unknown>>(true);
  await tx.sql`SELECT ${1}`;
  await texts.insert(tx, 7);
});
broker.subscribe(texts, { batch: 10 }, (messages, { deliveries }) => {
  expectType<Equal<typeof messages, readonly number[]>>(true);
  return deliveries.map(({ attempt }) => (attempt === 1 ? undefined : deadLetter()));
});
broker.subscribe(
  texts,
  { batch: 10, transactional: true, reply: texts },
  async (messages, context) => {
    await context.tx.query("SELECT 1");
    await context.reply(messages.length);
  },
);
broker.subscribe(
  texts,
  {
    workersByKey: 3,
    maxAttempts: 5,
    deadLetter: Jobs.queue("failed"),
    leaseMs: 60_000,
    prefetch: 5,
  },
  () => {},
);
broker.subscribe("by.name", { workers: 2 }, (message) => {
  expectType<Equal<typeof message, unknown>>(true);
});
expectType<Equal<Awaited<ReturnType<typeof publishText>>, bigint>>(true);
function publishText() {
  return broker.publish(texts, 7, { delay: "30s", key: "a" });
}

async function handleVoid(_message: number): Promise<void> {}
broker.subscribe(texts, handleVoid);
