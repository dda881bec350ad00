import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { retry } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const KeyedJobs = inboxTable("keyed_jobs", {
  advisoryLock: "job-{topic}",
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    attempt: c.integer().attempt().generated(),
    due: c.timestamp().retryAfter().nullable(),
    reason: c.text().nullable(),
    topic: c.text().nullable(),
    payload: c.json().payload(),
  },
});
const queue = KeyedJobs.queue("a");

const jobsOf = (topic: string | null, count: number) =>
  Array.from({ length: count }, (_, payload) => ({ grp: "a", topic, payload }));

describe("keys that are locked", () => {
  forEachTarget({ connections: "one" }, ({ name }, open) => {
    test.for([{ batch: 1 }, { batch: 7 }])(
      "18, 39: each row is delivered once, its attempt counted ($batch a call)",
      async ({ batch }) => {
        const db = await openTables(open, [KeyedJobs]);
        const brokers = [db.source, db.another()].map((source) => {
          if (source.database === undefined)
            Object.assign(source, { database: db.source.database });
          return testBroker(source).broker;
        });
        const seen: string[] = [];
        for (let topic = 0; topic < 50; topic += 1) {
          await KeyedJobs.insert(db.source, jobsOf(`${topic}`, 4));
        }
        for (const broker of brokers) {
          if (batch === 1) {
            broker.subscribe(queue, { workers: 3 }, (message, { attempt, key }) => {
              seen.push(`${key} ${message} ${attempt}`);
            });
          } else {
            broker.subscribe(queue, { workers: 2, batch }, (messages, { deliveries }) => {
              for (const [index, { attempt, key }] of deliveries.entries()) {
                seen.push(`${key} ${messages[index]} ${attempt}`);
              }
            });
          }
          await broker.start();
        }
        await until(async () => (await db.rows(KeyedJobs)).length === 0, { deadline: 40_000 });
        for (const broker of brokers) await broker.stop();
        expect(seen).toHaveLength(200);
        expect(new Set(seen).size).toBe(200);
        expect(seen.filter((line) => !/^job-\d+ [0-3] 1$/.test(line))).toEqual([]);
      },
    );

    test("38: NULL is empty text, text with NUL is a key too, and both flow", async () => {
      const db = await openTables(open, [KeyedJobs]);
      // PostgreSQL has no such text.
      const topics = name.startsWith("sqlite") ? ["a\0b", "a\0c", null] : ["a", null];
      for (const topic of topics) await KeyedJobs.insert(db.source, jobsOf(topic, 2));
      const { broker } = testBroker(db.source);
      const keys = new Set<unknown>();
      broker.subscribe(queue, (_message, { key }) => void keys.add(key));
      await broker.start();
      await until(async () => (await db.rows(KeyedJobs)).length === 0);
      await broker.stop();
      expect(keys.size).toBe(topics.length);
      expect(keys).toContain("job-");
    });

    test("44: a stop gives the row in work back, its attempt too, and says what it released", async () => {
      const db = await openTables(open, [KeyedJobs]);
      const { broker, logger } = testBroker(db.source);
      let running = 0;
      broker.subscribe(queue, async (_message, { signal }) => {
        running += 1;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      });
      await KeyedJobs.insert(db.source, jobsOf("a", 1));
      await broker.start();
      await until(() => running === 1);
      await broker.stop({ graceMs: 1 });
      expect(logger.of("locks_released")).toMatchObject([{ fields: { released: 1, closed: 0 } }]);
      expect(await db.rows(KeyedJobs)).toMatchObject([{ attempt: 1 }]);
      // Nothing holds the key any more.
      const next = testBroker(db.source).broker;
      next.subscribe(queue, () => undefined);
      await next.start();
      await until(async () => (await db.rows(KeyedJobs)).length === 0);
    });
  });

  forEachTarget({ connections: "one writer" }, (_target, open) => {
    test("38, 43: one row of a key is in work at a time, and hides nothing behind it", async () => {
      const db = await openTables(open, [KeyedJobs]);
      const another = db.another();
      if (another.database === undefined) Object.assign(another, { database: db.source.database });
      const [gate, started] = [new Gate(), new Gate()];
      let running = 0;
      let most = 0;
      const handle = async (message: unknown, { key }: { readonly key: string | undefined }) => {
        if (key !== "job-hot") return;
        running += 1;
        most = Math.max(most, running);
        started.open();
        if (message === 0) await gate.opened;
        running -= 1;
      };
      // Far more than a claim reads at once.
      await KeyedJobs.insert(db.source, jobsOf("hot", 100));
      await KeyedJobs.insert(db.source, jobsOf("cold", 1));
      const [first, second] = [testBroker(db.source).broker, testBroker(another).broker];
      first.subscribe(queue, { workers: 1 }, handle);
      await first.start();
      await started.opened;
      second.subscribe(queue, { workers: 2 }, handle);
      await second.start();
      await until(() => second.stats()[0]?.settled.ack === 1);
      expect(await db.rows(KeyedJobs)).toHaveLength(100);
      gate.open();
      await until(async () => (await db.rows(KeyedJobs)).length === 0, { deadline: 40_000 });
      await Promise.all([first.stop(), second.stop()]);
      expect(most).toBe(1);
    });

    test("61: an ack commits what the handler wrote; a throw rolls it back, and frees the key", async () => {
      const db = await openTables(open, [KeyedJobs]);
      const { broker } = testBroker(db.source);
      broker.subscribe(
        queue,
        { transactional: true, workers: 2, onFailure: { throw: retry() } },
        async (message, { attempt, tx }) => {
          await tx.query(db.effect, [`${message} ${attempt}`]);
          if (attempt === 2) return;
          throw new Error("once more");
        },
      );
      await KeyedJobs.insert(db.source, jobsOf("a", 3));
      await broker.start();
      await until(async () => (await db.rows(KeyedJobs)).length === 0);
      await broker.stop();
      expect((await db.effects()).toSorted()).toEqual(["0 2", "1 2", "2 2"]);
    });
  });
});
