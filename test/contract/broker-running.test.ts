import { describe, expect, test } from "vitest";
import { Broker } from "../../src/broker/broker.ts";
import { AlreadyRunningError, ShutdownError, TableError } from "../../src/errors.ts";
import {
  formsOf,
  LeaseJobs,
  openTables,
  rejection,
  testBroker,
  transactionalTables,
} from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

describe("brokers at work", () => {
  forEachTarget({ connections: "one writer" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`18, ${form}: two brokers deliver each of 200 rows exactly once`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const all = Array.from({ length: 200 }, (_, n) => n);
        await queue.insert(db.source, all);
        const seen: number[] = [];
        const brokers = [db.source, db.another({ max: 5 })].map((source) => {
          if (source.database === undefined) Object.assign(source, { database: db.dialect });
          const { broker } = testBroker(source);
          broker.subscribe(queue, { workers: 3 }, (n) => void seen.push(Number(n)));
          return broker;
        });
        await Promise.all(brokers.map((broker) => broker.start()));
        await until(async () => (await db.rows(Jobs)).length === 0, { deadline: 25_000 });
        await Promise.all(brokers.map((broker) => broker.stop()));
        expect(seen.toSorted((a, b) => a - b)).toEqual(all);
        for (const broker of brokers) expect(broker.stats()[0]?.settled.ack).toBeGreaterThan(0);
      });

      test(`74, ${form}: a stop waits for the handler, and nothing is left afterwards`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const source = new WatchedSource(db.source);
        Object.assign(source, { database: db.dialect });
        const { broker } = testBroker(source);
        const gate = new Gate();
        let ended = 0;
        broker.subscribe(queue, { workers: 2 }, async () => {
          await gate.opened;
          ended += 1;
        });
        await queue.insert(db.source, ["x", "y", "z"]);
        await broker.start();
        await until(() => broker.stats()[0]?.inWork === 2);
        const stopped = broker.stop();
        expect(broker.health()).toMatchObject({ ok: false, state: "stopping" });
        gate.open();
        await stopped;
        expect(ended).toBe(2);
        expect(source.inUse).toBe(0);
        const { connects } = source;
        expect(await db.rows(Jobs)).toMatchObject([{ payload: '"z"' }]);
        // P6: after stop() not one query, however many rows come.
        await queue.insert(db.source, ["after"]);
        broker.stats();
        expect(source.connects).toBe(connects);
      });

      test(`74, ${form}: a stop waits for the connection that a claim has asked for`, async () => {
        const db = await openTables(open, [Jobs]);
        const source = new WatchedSource(db.source);
        Object.assign(source, { database: db.dialect });
        const { broker } = testBroker(source, { pollIntervalMs: 5 });
        broker.subscribe(Jobs.queue("a"), () => {});
        await broker.start();
        const gate = new Gate();
        source.gate = gate.opened;
        const { connects } = source;
        await until(() => source.connects > connects);
        const stopped = broker.stop();
        gate.open();
        await stopped;
        expect(source.inUse).toBe(0);
        // What the stop cut off has not failed.
        expect(broker.stats()).toMatchObject([{ state: "stopped", lastError: undefined }]);
      });

      test(`74, ${form}: a handler that outlasts the grace is cut off, and its row spends no attempt`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        let reason: unknown;
        broker.subscribe(queue, async (_, { signal }) => {
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          reason = signal.reason;
        });
        await queue.insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.inWork === 1);
        await broker.stop({ graceMs: 1 });
        expect(reason).toBeInstanceOf(ShutdownError);
        expect(broker.stats()[0]?.returned.abandoned).toBe(1);
        const attempts: unknown[] = [];
        const next = testBroker(db.source).broker;
        next.subscribe(queue, (_, { attempt }) => void attempts.push(attempt));
        await next.start();
        await until(() => attempts.length === 1);
        expect(attempts).toEqual([1]);
      });
    }
  });

  forEachTarget({ connections: "one" }, (target, open) => {
    test("77: pause keeps the subscription from claiming, resume lets it", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      const subscription = broker.subscribe(queue, { name: "mails" }, (message) => {
        seen.push(message);
      });
      subscription.pause();
      await broker.start();
      await until(() => subscription.stats().state === "paused");
      await broker.publish(queue, 1);
      expect(subscription.stats()).toMatchObject({ name: "mails", queue: "a", claimed: 0 });
      subscription.resume();
      await until(() => seen.length === 1);
      subscription.pause();
      await until(() => subscription.stats().state === "paused");
      await broker.publish(queue, 2);
      subscription.resume();
      await until(() => seen.length === 2);
      expect(broker.health()).toMatchObject({ ok: true, state: "running" });
      expect(subscription.stats().lastClaimAt).toBeInstanceOf(Date);
    });

    test("P7: stop twice, stop before start, start twice, start after a failed start: all settle", async () => {
      const db = await openTables(open, []);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(queue, (message) => void seen.push(message));
      await broker.stop();
      await expect(broker.start()).rejects.toThrow("has no table lease_jobs");
      expect(broker.health()).toMatchObject({ ok: false, state: "idle" });
      await db.create(LeaseJobs);
      const early = broker.start();
      await Promise.all([broker.stop(), broker.stop()]);
      expect(await rejection(early)).toBeInstanceOf(ShutdownError);
      await Promise.all([broker.start(), broker.start()]);
      await broker.publish(queue, "x");
      await until(() => seen.length === 1);
      await Promise.all([broker.stop(), broker.stop()]);
      await broker.start();
      await broker.publish(queue, "y");
      await until(() => seen.length === 2);
      const stopping = broker.stop();
      await broker.start();
      await stopping;
      expect(broker.health().ok).toBe(true);
      expect(() => broker.subscribe(LeaseJobs.queue("b"), () => undefined)).toThrow(
        AlreadyRunningError,
      );
    });

    test("74: run works until its signal aborts; one that aborted already does nothing", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(queue, (message) => void seen.push(message));
      await broker.run({ signal: AbortSignal.abort() });
      const controller = new AbortController();
      const ran = broker.run({ signal: controller.signal });
      await broker.publish(queue, "x");
      await until(() => seen.length === 1);
      controller.abort();
      await ran;
      expect(broker.health().state).toBe("idle");
      expect(await rejection(broker.run({ signal: "now" as never }))).toMatchObject({
        message: 'run takes an AbortSignal as signal, not "now"',
      });
    });

    test("74: await using stops the broker", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { broker } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      {
        await using used = broker;
        await used.start();
        expect(broker.health().state).toBe("running");
      }
      expect(broker.health().state).toBe("idle");
    });

    test("21: two subscriptions to one queue are refused at start, on another broker not", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { broker } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      broker.subscribe(LeaseJobs.queue("b"), () => undefined);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(TableError);
      expect(String(error)).toContain("a of lease_jobs has two subscriptions on one broker");
      const other = testBroker(db.source).broker;
      other.subscribe(LeaseJobs.queue("a"), () => undefined);
      await other.start();
    });

    test("60: a transactional handler's writes commit with the acknowledgement, and with nothing else", async () => {
      const db = await openTables(open, transactionalTables(target));
      for (const Jobs of transactionalTables(target)) {
        const queue = Jobs.queue("a");
        const out = Jobs.queue("out");
        const { broker } = testBroker(db.source);
        let calls = 0;
        broker.subscribe(
          queue,
          { transactional: true, retry: { baseDelayMs: 0 }, reply: out },
          async (message, { tx, reply }) => {
            calls += 1;
            await tx.query(db.effect, [`${message} ${calls}`]);
            await reply(`reply ${calls}`);
            if (calls === 1) throw new Error("no stock");
          },
        );
        await queue.insert(db.source, Jobs.description.name);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        await broker.stop();
        expect(await db.rows(Jobs)).toMatchObject([{ grp: "out", payload: '"reply 2"' }]);
      }
      expect(await db.effects()).toEqual(
        transactionalTables(target).map(({ description }) => `${description.name} 2`),
      );
    });

    test("56, 57: a batch is one call with a list, one transaction, and one outcome a row", async () => {
      const db = await openTables(open, transactionalTables(target));
      for (const Jobs of transactionalTables(target)) {
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const sizes: number[] = [];
        broker.subscribe(
          queue,
          { batch: 3, transactional: true },
          async (messages, { deliveries, tx }) => {
            sizes.push(messages.length);
            expect(deliveries.map(({ attempt }) => attempt)).toEqual(messages.map(() => 1));
            await tx.query(db.effect, [messages.join()]);
          },
        );
        await queue.insert(db.source, [1, 2, 3, 4]);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 4);
        await broker.stop();
        expect(sizes).toEqual([3, 1]);
      }
      expect(await db.effects()).toEqual(transactionalTables(target).flatMap(() => ["1,2,3", "4"]));
    });
  });

  test("a source that does not say which database it is, is refused with what to do", () => {
    const source = { connect: () => Promise.reject(new Error("never")) };
    expect(() => new Broker(source)).toThrow(
      'give it the property database, such as "postgres", or the broker the option dialect',
    );
    expect(() => new Broker({ ...source, database: "dbase" })).toThrow('no dialect "dbase"');
    expect(() => new Broker({} as never)).toThrow("Broker: it takes a source such as fromPg(pool)");
  });
});

describe("28: connections", () => {
  forEachTarget({ connections: "one writer" }, (target, open) => {
    // Those that hold a connection while their handlers run.
    for (const { form, Jobs } of formsOf(target).filter((each) => each.form !== "lease")) {
      test(`28, ${form}: one connection of the pool stays free, and it is said that fewer handlers run`, async () => {
        const db = await openTables(open, [Jobs], { max: 3 });
        const queue = Jobs.queue("a");
        const source = new WatchedSource(db.source);
        Object.assign(source, { database: db.dialect });
        const { broker, logger } = testBroker(source);
        const gate = new Gate();
        broker.subscribe(queue, { workers: 8 }, () => gate.opened);
        await queue.insert(db.source, [1, 2, 3, 4, 5]);
        await broker.start();
        await until(() => broker.stats()[0]?.inWork === 2);
        expect(source.mostInUse).toBeLessThanOrEqual(3);
        await broker.publish(queue, "a publish has a connection");
        expect(broker.stats()[0]?.inWork).toBe(2);
        gate.open();
        await until(() => broker.stats()[0]?.settled.ack === 6);
        expect(logger.of("few_connections")).toMatchObject([
          { fields: { workers: 8, handlers: 2, connections: 3 } },
        ]);
      });
    }
  });

  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`T9, 28, ${form}: a pool of one works one delivery at a time`, async () => {
        const db = await openTables(open, [Jobs], { max: 1 });
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        let running = 0;
        let most = 0;
        broker.subscribe(queue, { workers: 4, transactional: true }, async (n, { tx }) => {
          running += 1;
          most = Math.max(most, running);
          await tx.query(db.effect, [n]);
          running -= 1;
        });
        await queue.insert(db.source, [1, 2, 3]);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        await broker.stop();
        expect(most).toBe(1);
        expect((await db.effects()).length).toBe(3);
      });
    }
  });
});
