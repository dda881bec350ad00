import { describe, expect, onTestFinished, test } from "vitest";
import { inboxHeaders, inboxMessage } from "../../src/broker/inbox-headers.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const HOUR = 3_600_000;

const News = inboxHeaders("news", {
  columns: {
    id: c.bigint().id().generated(),
    topic: c.text().group(),
    lease: c.timestamp().lockedUntil().nullable(),
    title: c.text().nullable(),
  },
});
const Title = inboxMessage({ headers: News, columns: { title: c.text().nullable() } });
const Numbered = inboxMessage({ headers: News, columns: { id: c.bigint().id() } });

const Orders = inboxTable("wake_orders", {
  columns: {
    id: c.bigint().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});

describe("70, 73: an insert through a headers table", () => {
  forEachTarget({ connections: "one" }, (_target, open) => {
    test("wakes the subscriptions of its group, whichever message they take", async () => {
      const db = await openTables(open, [News]);
      const { broker } = testBroker(db.source, { pollIntervalMs: HOUR });
      const seen: string[] = [];
      broker.subscribe(Title.queue("a"), ({ title }) => void seen.push(`a ${title}`));
      broker.subscribe(Numbered.queue("b"), ({ id }) => void seen.push(`b ${id}`));
      await broker.start();
      await until(() => broker.stats().every(({ state }) => state === "resting"));
      await News.insert(db.source, [
        { topic: "a", title: "x" },
        { topic: "b", title: "y" },
      ]);
      await until(() => seen.length === 2);
      expect(seen.toSorted()).toEqual(["a x", "b 2"]);
    });

    test("through a handler's tx wakes after the commit", async () => {
      const db = await openTables(open, [News, Orders]);
      const { broker } = testBroker(db.source, { pollIntervalMs: HOUR });
      const seen: unknown[] = [];
      broker.subscribe(Title.queue("a"), ({ title }) => void seen.push(title));
      broker.subscribe(Orders.queue(), { transactional: true }, async (order, { tx }) => {
        await News.insert(tx, { topic: "a", title: `of ${order}` });
      });
      await broker.start();
      await until(() => broker.stats().every(({ state }) => state === "resting"));
      await broker.publish(Orders.queue(), 1);
      await until(() => seen.length === 1);
      expect(seen).toEqual(["of 1"]);
    });
  });

  forEachSource({ connections: "many" }, (name, open) => {
    const heard = test.skipIf(name === "handmade");

    heard(
      "notifies other processes, once a transaction and group, where a broker here listens",
      async () => {
        const db = await openTables(open, [News]);
        const { broker } = testBroker(db.source, { pollIntervalMs: HOUR, listenNotify: true });
        const seen: unknown[] = [];
        broker.subscribe(Title.queue("a"), ({ title }) => void seen.push(title));
        await broker.start();
        const payloads: string[] = [];
        const close = await db.source.listen?.("news", {
          notified: (payload) => void payloads.push(payload),
          lost: () => undefined,
        });
        onTestFinished(() => close?.());
        await News.insert(db.source, [{ topic: "a", title: "x" }, { topic: "a" }, { topic: "b" }]);
        await until(() => payloads.includes("b") && seen.length === 2);
        expect(payloads).toEqual(["a", "b"]);
      },
    );

    heard("by other means wakes by a notification on the table's channel", async () => {
      const db = await openTables(open, []);
      for (const statement of News.ddl("postgres", { listenNotify: true })) {
        await db.query(statement);
      }
      const { broker } = testBroker(db.source, { pollIntervalMs: HOUR, listenNotify: true });
      const seen: unknown[] = [];
      broker.subscribe(Title.queue("a"), ({ title }) => void seen.push(title));
      await broker.start();
      const listening = async () => {
        const { rows } = await db.query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'",
        );
        return rows.length === 1;
      };
      await until(listening);
      await until(() => broker.stats()[0]?.state === "resting");
      await db.query("INSERT INTO news (topic, title) VALUES ('a', 'x')");
      await until(() => seen.length === 1);
    });
  });
});
