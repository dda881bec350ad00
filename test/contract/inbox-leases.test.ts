import { describe, expect, test } from "vitest";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { inboxWords } from "../support/inbox-words.ts";
import { forEachInbox } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

const LEASE = 600_000;
const THIRD = LEASE / 3;

/** The instant each lease ends at, in microseconds, in the order of the claim. */
async function leases(inbox: OpenedInbox): Promise<number[]> {
  const { micros } = inboxWords(inbox.dialect);
  const { rows } = await inbox.query<{ ends: number }>(
    `SELECT ${micros("lease_expires_at")} AS ends FROM inbox
     WHERE state = 'processing' ORDER BY scheduled_at, created_at, id`,
  );
  return rows.map(({ ends }) => ends);
}

describe("the lease of a message in hand", () => {
  forEachInbox({ connections: "many" }, (open, words) => {
    test("F4: outlasts its own length: a handler that takes two of them is the only one", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      let deliveries = 0;
      const handler = async () => {
        deliveries += 1;
        // Through the claim's own instant, so that it is the database that says how long it took.
        await eventually(async () => {
          const { rowCount } = await inbox.query(
            `SELECT id FROM inbox WHERE claimed_at < ${words.later(-2000)}`,
          );
          return rowCount === 1;
        });
      };
      const options = { leaseMs: 1000 };
      const workers = [inbox.source, inbox.another()].map((source) =>
        work(source, handler, options),
      );
      await eventually(async () => (await inbox.count("processed")) === 1);
      await Promise.all(workers.map(({ stop }) => stop()));
      expect(deliveries).toBe(1);
      expect(workers.flatMap(({ logger }) => logger.of("lease_lost"))).toEqual([]);
    });

    test("is renewed every third, for messages that wait as for the one that runs", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "runs" }, { key: "waits" }, { key: "waits too" });
      const clock = new TestClock();
      const running = latch();
      const watched = new WatchedSource(inbox.source);
      const started = latch();
      const handler = () => {
        started.open();
        return running.opened;
      };
      const { logger, stop } = work(watched, handler, { clock, leaseMs: LEASE, batchSize: 3 });
      await started.opened;
      let before = await eventually(async () => {
        const ends = await leases(inbox);
        return ends.length === 3 && watched.inUse === 1 && ends;
      });
      for (let round = 0; round < 4; round++) {
        const { connects } = watched;
        await clock.advance(THIRD - 1);
        expect(watched.connects).toBe(connects);
        await clock.advance(1);
        const after = await eventually(async () => {
          const ends = await leases(inbox);
          return ends.every((end, index) => end > Number(before[index])) && ends;
        });
        await eventually(() => watched.inUse === 1);
        // All of them in one statement, on a connection that is not the handler's.
        expect(watched.connects).toBe(connects + 1);
        before = after;
      }
      running.open();
      await eventually(async () => (await inbox.count("processed")) === 3);
      await stop();
      expect(logger.of("lease_lost")).toEqual([]);
    });

    test("F1: a stolen message's signal aborts at the next renewal, and nothing of it is kept or recorded", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" }, { key: "b" });
      const clock = new TestClock();
      const reasons: unknown[] = [];
      let isWorked = false;
      const { logger, stop } = work(
        inbox.source,
        async ({ idempotencyKey }, tx, signal) => {
          await tx.query(words.effect, [idempotencyKey]);
          if (idempotencyKey === "b") return;
          isWorked = true;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          reasons.push(signal.reason);
          await expect(tx.query(words.effect, ["late"])).rejects.toBe(signal.reason);
          throw new Error("gave up");
        },
        { clock, leaseMs: LEASE, batchSize: 1 },
      );
      // The row is claimed before the worker has heard of it, and only then is its lease kept.
      await eventually(() => isWorked);
      await inbox.query(`UPDATE inbox SET claim_token = ${words.uuid} WHERE state = 'processing'`);
      const stolen = await inbox.row("a");
      await clock.advance(THIRD);
      await eventually(() => logger.of("lease_lost").length === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(reasons).toMatchObject([{ code: "LEASE_LOST" }]);
      expect(await inbox.row("a")).toMatchObject({
        state: "processing",
        attempt: 0,
        lastError: null,
        token: stolen.token,
      });
      expect(await inbox.effects()).toEqual(["b"]);
      expect(logger.of("lease_lost")).toMatchObject([{ level: "warn", fields: { id: stolen.id } }]);
      expect(logger.of("retried")).toEqual([]);
    });

    test("a message that was stolen while it waited for a slot is never started", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "runs" }, { key: "stolen" }, { key: "last" });
      const clock = new TestClock();
      const running = latch();
      const seen: string[] = [];
      const { logger, stop } = work(
        inbox.source,
        async ({ idempotencyKey }) => {
          seen.push(idempotencyKey);
          await running.opened;
        },
        { clock, leaseMs: LEASE },
      );
      const before = await eventually(async () => {
        const ends = await leases(inbox);
        return ends.length === 3 && seen.length === 1 && ends;
      });
      await inbox.query(
        `UPDATE inbox SET claim_token = ${words.uuid} WHERE idempotency_key = 'stolen'`,
      );
      await clock.advance(THIRD);
      await eventually(async () => Number((await leases(inbox))[2]) > Number(before[2]));
      running.open();
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
      expect(seen).toEqual(["runs", "last"]);
      expect(logger.of("lease_lost")).toHaveLength(1);
      expect(await inbox.row("stolen")).toMatchObject({ state: "processing", attempt: 0 });
    });

    test("a renewal waits for no row lock: a message that its own handler has locked is not lost", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "locked" }, { key: "free" });
      const clock = new TestClock();
      const running = latch();
      let locked = 0;
      const { logger, stop } = work(
        inbox.source,
        async ({ idempotencyKey }, tx, signal) => {
          if (idempotencyKey === "locked") {
            await tx.query(
              "UPDATE inbox SET event_type = 'locked' WHERE idempotency_key = 'locked'",
            );
            locked += 1;
          }
          await running.opened;
          signal.throwIfAborted();
        },
        { clock, leaseMs: LEASE, maxConcurrency: 2 },
      );
      await eventually(() => locked === 1);
      const [, before] = await eventually(async () => {
        const ends = await leases(inbox);
        return ends.length === 2 && ends;
      });
      await clock.advance(THIRD);
      await eventually(async () => Number((await leases(inbox))[1]) > Number(before));
      running.open();
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
      expect(logger.of("renewal_failed")).toEqual([]);
    });

    test("F3: a renewal that fails is tried again at once, and then at each interval", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      const running = latch();
      const started = latch();
      const handler = () => {
        started.open();
        return running.opened;
      };
      const { logger, stop } = work(watched, handler, { clock, leaseMs: LEASE });
      await started.opened;
      const [before] = await leases(inbox);
      // Of the idle claims, which fail at the same time, nothing is asked here.
      await eventually(() => watched.inUse === 1);
      watched.failure = new Error("no route to the database");
      await clock.advance(THIRD);
      await eventually(() => logger.of("renewal_failed").length === 2);
      expect(await leases(inbox)).toEqual([before]);
      watched.failure = undefined;
      await clock.advance(THIRD);
      await eventually(() => logger.of("renewal_failed_recovered").length === 1);
      expect(Number((await leases(inbox))[0])).toBeGreaterThan(Number(before));
      running.open();
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(logger.of("lease_lost")).toEqual([]);
    });
  });

  forEachInbox({ connections: "one" }, (open, words) => {
    test("F4: where no renewal gets through, the signal aborts at the lease's end, and the handler cannot commit", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      let ended: unknown;
      let isRunning = false;
      const { logger, stop } = work(
        watched,
        async (_message, tx, signal) => {
          await tx.query(words.effect, ["a"]);
          isRunning = true;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          ended = clock.monotonic();
        },
        { clock, leaseMs: LEASE },
      );
      await eventually(() => isRunning);
      watched.failure = new Error("no route to the database");
      await clock.advance(LEASE - 1);
      expect(ended).toBeUndefined();
      await clock.advance(1);
      await eventually(() => logger.of("lease_lost").length === 1);
      watched.failure = undefined;
      await stop();
      expect(ended).toBe(LEASE);
      expect(await inbox.effects()).toEqual([]);
      expect(await inbox.row("a")).toMatchObject({ state: "processing", attempt: 0 });
    });
  });
});
