import { describe, expect, onTestFinished, test } from "vitest";
import { deadLetter } from "../../src/queuebox/index.ts";
import { openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

describe("the slots of a worker", () => {
  forEachInbox({ connections: "many" }, (open) => {
    test("one slow handler holds back nobody: the other slot works all the rest meanwhile", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        { key: "slow" },
        ...Array.from({ length: 9 }, (_, n) => ({ key: `m-${n}` })),
      );
      const slow = latch();
      const { stop } = work(
        inbox.source,
        async ({ idempotencyKey }) => {
          if (idempotencyKey === "slow") await slow.opened;
        },
        { batchSize: 4, maxConcurrency: 2, pollIntervalMs: HOUR },
      );
      await eventually(async () => (await inbox.count("processed")) === 9);
      expect((await inbox.row("slow")).state).toBe("processing");
      slow.open();
      await eventually(async () => (await inbox.count("processed")) === 10);
      await stop();
    });

    test("works up to maxConcurrency side by side, and never more", async () => {
      const inbox = await openInbox(open, { max: 5 });
      await inbox.insert(...Array.from({ length: 8 }, (_, n) => ({ key: `m-${n}` })));
      const full = latch();
      let running = 0;
      let most = 0;
      const { stop } = work(
        inbox.source,
        async (_message, tx) => {
          running += 1;
          most = Math.max(most, running);
          if (running === 3) full.open();
          await full.opened;
          await tx.query("SELECT 1");
          running -= 1;
        },
        { maxConcurrency: 3, pollIntervalMs: HOUR },
      );
      await eventually(async () => (await inbox.count("processed")) === 8);
      await stop();
      expect(most).toBe(3);
    });

    test("twenty handlers at once, and twenty failures that cannot be recorded at once, print no warning of too many listeners", async () => {
      const inbox = await openInbox(open, { max: 22 });
      const warnings: string[] = [];
      const warned = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
      process.on("warning", warned);
      onTestFinished(() => void process.off("warning", warned));
      await inbox.insert(...Array.from({ length: 20 }, (_, n) => ({ key: `m-${n}` })));
      const watched = new WatchedSource(inbox.source);
      const full = latch();
      let started = 0;
      const { logger, stop } = work(
        watched,
        async () => {
          started += 1;
          if (started === 20) {
            watched.failure = new Error("no connection for now");
            watched.failures = 60;
            full.open();
          }
          await full.opened;
          throw new Error("all at once");
        },
        { batchSize: 20, maxConcurrency: 20, retryPolicy: () => deadLetter() },
      );
      await eventually(async () => (await inbox.count("dead")) === 20);
      await stop();
      expect(logger.of("dead")).toHaveLength(20);
      expect(warnings).toEqual([]);
    });

    test("S18: the next message of an aggregate starts as soon as the one before it is settled, not at the next poll", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(...[1, 2, 3].map((n) => ({ key: `a-${n}`, aggregateId: "a" })));
      const seen: string[] = [];
      const { stop } = work(
        inbox.source,
        ({ idempotencyKey }) => {
          seen.push(idempotencyKey);
        },
        { maxConcurrency: 4, pollIntervalMs: HOUR },
      );
      await eventually(async () => (await inbox.count("processed")) === 3);
      await stop();
      expect(seen).toEqual(["a-1", "a-2", "a-3"]);
    });

    test("S10: a busy aggregate holds back no other, and nothing overtakes within it", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        ...Array.from({ length: 60 }, (_, n) => ({
          key: `hot-${n}`,
          aggregateId: "hot",
          dueInMs: n - 1000,
        })),
        ...["b", "c"].map((aggregateId) => ({ key: aggregateId, aggregateId })),
        { key: "free" },
      );
      const hot = latch();
      const seen: string[] = [];
      const { stop } = work(
        inbox.source,
        async ({ idempotencyKey }) => {
          seen.push(idempotencyKey);
          if (idempotencyKey === "hot-0") await hot.opened;
        },
        { maxConcurrency: 4, pollIntervalMs: HOUR },
      );
      await eventually(async () => (await inbox.count("processed")) === 3);
      expect(seen.filter((key) => key.startsWith("hot"))).toEqual(["hot-0"]);
      hot.open();
      await eventually(() => seen.length >= 8);
      await stop();
      expect(seen.filter((key) => key.startsWith("hot")).slice(0, 5)).toEqual(
        [0, 1, 2, 3, 4].map((n) => `hot-${n}`),
      );
    });
  });

  forEachInbox({ connections: "one" }, (open) => {
    test("a slot that becomes free is refilled at once, not at the next poll", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(...Array.from({ length: 5 }, (_, n) => ({ key: `m-${n}` })));
      const { stop } = work(inbox.source, () => {}, { batchSize: 1, pollIntervalMs: HOUR });
      await eventually(async () => (await inbox.count("processed")) === 5);
      await stop();
    });

    test("never has more than the batch in hand", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(...Array.from({ length: 14 }, (_, n) => ({ key: `m-${n}` })));
      const inHand: number[] = [];
      const { stop } = work(
        inbox.source,
        async (_message, tx) => {
          const { rows } = await tx.query<{ n: number }>(
            "SELECT CAST(count(*) AS int) AS n FROM inbox WHERE state = 'processing'",
          );
          inHand.push(...rows.map(({ n }) => n));
        },
        { batchSize: 3, maxConcurrency: 2, pollIntervalMs: HOUR },
      );
      await eventually(async () => (await inbox.count("processed")) === 14);
      await stop();
      expect(inHand).toHaveLength(14);
      expect(Math.max(...inHand)).toBeLessThanOrEqual(3);
    });
  });
});

describe("a worker on a small pool", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("T9: of one connection works, with a warning at the start, and never wants a second while it holds one", async () => {
      const inbox = await openInbox(open, { max: 1 });
      if (inbox.source.max === undefined) return;
      await inbox.insert({ key: "a" }, { key: "fails" }, { key: "c" });
      const watched = new WatchedSource(inbox.source);
      const { logger, stop } = work(
        watched,
        async ({ idempotencyKey }, tx) => {
          await tx.query(words.effect, [idempotencyKey]);
          if (idempotencyKey === "fails") throw new Error("no stock");
        },
        { maxConcurrency: 5 },
      );
      await eventually(async () => (await inbox.count("processed")) === 2);
      await eventually(() => logger.of("retried").length === 1);
      await stop();
      expect(watched.mostInUse).toBe(1);
      expect(logger.of("single_connection")).toMatchObject([{ level: "warn" }]);
    });

    test("T9: of one connection, whose handler waits for a second one, ends that at the lease, and goes on", async () => {
      const inbox = await openInbox(open, { max: 1 });
      if (inbox.source.max === undefined) return;
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const asking = latch();
      let deliveries = 0;
      const late: string[] = [];
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          deliveries += 1;
          await tx.query(words.effect, ["a"]);
          if (deliveries > 1) return;
          asking.open();
          const second = await inbox.source.connect();
          late.push("connected");
          await second.release();
        },
        { clock, leaseMs: 60_000 },
      );
      await asking.opened;
      // The lease, and the last wait of a handler that does not end when its signal aborts.
      await clock.advance(60_000 + 5000);
      await eventually(() => late.length === 1);
      expect(logger.of("handler_left_behind")).toMatchObject([{ level: "error" }]);
      expect(logger.of("lease_lost")).toHaveLength(1);
      await inbox.query(`UPDATE inbox SET lease_expires_at = ${words.later(-1000)}`);
      await eventually(async () => {
        await clock.advance(100);
        return (await inbox.count("processed")) === 1;
      });
      await stop();
      expect(await inbox.effects()).toEqual(["a"]);
    });
  });

  forEachInbox({ connections: "many" }, (open) => {
    test("of two connections works one message at a time, whatever maxConcurrency says, and says so", async () => {
      const inbox = await openInbox(open, { max: 2 });
      if (inbox.source.max === undefined) return;
      await inbox.insert(...Array.from({ length: 6 }, (_, n) => ({ key: `m-${n}` })));
      let running = 0;
      let most = 0;
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          running += 1;
          most = Math.max(most, running);
          await tx.query("SELECT 1");
          running -= 1;
        },
        { maxConcurrency: 5 },
      );
      await eventually(async () => (await inbox.count("processed")) === 6);
      await stop();
      expect(most).toBe(1);
      expect(logger.of("few_connections")).toMatchObject([
        { level: "warn", fields: { maxConcurrency: 5, handlers: 1, connections: 2 } },
      ]);
    });

    test("works beside others of its pool that hold all but one connection of it", async () => {
      const inbox = await openInbox(open, { max: 3 });
      if (inbox.source.max === undefined) return;
      const held = [await inbox.source.connect(), await inbox.source.connect()];
      await inbox.insert({ key: "a" }, { key: "b" });
      const { stop } = work(inbox.source, async (_message, tx) => {
        await tx.query("SELECT 1");
      });
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
      for (const connection of held) await connection.release();
    });
  });
});
