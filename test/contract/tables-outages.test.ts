import { describe, expect, onTestFinished, test } from "vitest";
import { formsOf, LeaseJobs, openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { FaultyNetwork } from "../support/proxy.ts";
import { forEachTarget } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";
import { eventually, WatchedSource } from "../support/work-inbox.ts";

describe("17: claims that fail", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    test("wait from 1 s, twice as long each time up to 30 s, are said ever more rarely, and go on", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const source = new WatchedSource(db.source);
      Object.assign(source, { database: db.dialect });
      const clock = new TestClock();
      const { broker, logger } = testBroker(source, { clock, pollIntervalMs: 1000 });
      const queue = LeaseJobs.queue("a");
      const seen: unknown[] = [];
      broker.subscribe(queue, (message) => void seen.push(message));
      await broker.start();
      await until(() => broker.stats()[0]?.state === "resting");
      source.failure = new Error("getaddrinfo ENOTFOUND postgres://app:hunter2@db/shop");
      const waits: number[] = [];
      for (let failures = 1; failures <= 8; failures += 1) {
        const { connects } = source;
        await clock.advance(clock.next ?? 0);
        await eventually(
          () => source.connects > connects && broker.stats()[0]?.state === "backing-off",
        );
        waits.push(clock.next ?? Number.NaN);
      }
      expect(broker.stats()[0]?.lastError).toMatch(/ENOTFOUND/);
      source.failure = undefined;
      await queue.insert(db.source, "after");
      // A claim on its way has a time limit, which is not to pass.
      await eventually(async () => {
        if (broker.stats()[0]?.state === "backing-off") await clock.advance(clock.next ?? 0);
        return seen.length === 1;
      });
      for (const [index, wait] of waits.entries()) {
        const middle = Math.min(1000 * 2 ** index, 30_000);
        expect(wait).toBeGreaterThanOrEqual(middle * 0.8 - 1);
        expect(wait).toBeLessThanOrEqual(Math.min(middle * 1.2, 30_000) + 1);
      }
      expect(logger.of("claim_failed").map(({ fields }) => fields.failures)).toEqual([1, 2, 4, 8]);
      expect(logger.of("claim_failed_recovered")).toMatchObject([{ fields: { failures: 8 } }]);
      expect(JSON.stringify(logger.lines)).not.toContain("hunter2");
    });

    for (const { form, Jobs } of formsOf(target)) {
      test(`${form}: a table that is away for a while stops no subscription`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker, logger } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(queue, (message) => void seen.push(message));
        await broker.start();
        const { name } = Jobs.description;
        const { rename } = wordsOf(target.dialect.name);
        await db.query(rename(name, "away"));
        await until(() => logger.of("claim_failed").length > 1);
        expect(broker.stats()[0]?.lastError).toContain(name);
        await db.query(rename("away", name));
        await queue.insert(db.source, "after");
        await until(() => seen.length === 1);
        expect(logger.of("subscription_failed")).toEqual([]);
      });
    }
  });

  forEachTarget({ connections: "many" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`${form}: a database that is lost, with rows in work, is worked on when it returns`, async () => {
        const db = await openTables(open, [Jobs]);
        const { url } = db;
        if (url === undefined) throw new Error("no network reaches this one");
        const proxy = await FaultyNetwork.before(url);
        const source = db.another({ max: 5, url: proxy.urlOf(url) });
        if (source.database === undefined) Object.assign(source, { database: db.dialect });
        const queue = Jobs.queue("a");
        const { broker, logger } = testBroker(source, { leaseMs: 500 });
        onTestFinished(async () => {
          proxy.refuses = false;
          await broker.stop({ graceMs: 0 });
          await proxy.close();
        });
        const gate = new Gate();
        let calls = 0;
        broker.subscribe(
          queue,
          { workers: 2, transactional: true, retry: { baseDelayMs: 10 } },
          async (message, { tx }) => {
            calls += 1;
            await tx.query(db.effect, [String(message)]);
            if (calls <= 2) await gate.opened;
          },
        );
        await queue.insert(db.source, ["x", "y", "z"]);
        await broker.start();
        await until(() => calls === 2);
        proxy.refuses = true;
        proxy.cut();
        gate.open();
        await until(() => logger.of("claim_failed").length > 0, { deadline: 20_000 });
        await db.endSessions();
        expect(await db.effects()).toEqual([]);
        proxy.refuses = false;
        await until(async () => (await db.rows(Jobs)).length === 0, { deadline: 40_000 });
        expect((await db.effects()).sort()).toEqual(["x", "y", "z"]);
        await until(() => logger.of("claim_failed_recovered").length > 0);
        expect(broker.health()).toMatchObject({ ok: true, state: "running" });
        expect(logger.of("subscription_failed")).toEqual([]);
      });
    }
  });
});

describe("16: when a subscription claims", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    test("for its free slots, again at once while rows come, and else at its own poll interval", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const clock = new TestClock();
      const { broker } = testBroker(db.source, { clock, pollIntervalMs: 60_000 });
      const seen: unknown[] = [];
      const gate = new Gate();
      broker.subscribe(
        LeaseJobs.queue("a"),
        { workers: 2, pollIntervalMs: 5000 },
        async (message) => {
          seen.push(message);
          await gate.opened;
        },
      );
      // Written past the brokers, so that nothing wakes them.
      const insert = (payload: number) =>
        db.query(
          `INSERT INTO lease_jobs (grp, payload) VALUES ('a', ${target.dialect.placeholder(1)})`,
          [String(payload)],
        );
      await broker.start();
      await until(() => broker.stats()[0]?.state === "resting");
      for (const n of [1, 2, 3, 4]) await insert(n);
      await clock.advance(3900);
      expect(seen).toEqual([]);
      await clock.advance(2200);
      await eventually(() => broker.stats()[0]?.inWork === 2);
      expect(broker.stats()[0]).toMatchObject({ state: "full", claimed: 2 });
      gate.open();
      await eventually(() => broker.stats()[0]?.settled.ack === 4);
      expect(seen).toEqual([1, 2, 3, 4]);
      await eventually(() => broker.stats()[0]?.state === "resting");
      expect(clock.next).toBeGreaterThanOrEqual(3900);
      expect(clock.next).toBeLessThanOrEqual(6000);
    });
  });
});
