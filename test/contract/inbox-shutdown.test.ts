import { describe, expect, test } from "vitest";
import { openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

/** Resolves when the signal aborts, with its reason. */
function abortOf(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

describe("a worker that is stopped", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("lets a running handler end within the grace, and completes its message", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const running = latch();
      const started = latch();
      let wasAborted: boolean | undefined;
      const { stop } = work(
        inbox.source,
        async (_message, tx, signal) => {
          started.open();
          await running.opened;
          await tx.query(words.effect, ["a"]);
          wasAborted = signal.aborted;
        },
        { clock, leaseMs: HOUR, shutdownGraceMs: 30_000 },
      );
      await started.opened;
      const stopped = stop();
      await clock.advance(29_999);
      running.open();
      await stopped;
      expect(wasAborted).toBe(false);
      expect(await inbox.effects()).toEqual(["a"]);
      expect(await inbox.count("processed")).toBe(1);
    });

    test("aborts the signal at the end of the grace, abandons the message to its lease, and spends no attempt", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const started = latch();
      let reason: unknown;
      let abortedAt: number | undefined;
      const first = work(
        inbox.source,
        async (_message, tx, signal) => {
          await tx.query(words.effect, ["first"]);
          started.open();
          reason = await abortOf(signal);
          abortedAt = clock.monotonic();
        },
        { clock, leaseMs: HOUR, shutdownGraceMs: 30_000 },
      );
      await started.opened;
      const stopped = first.stop();
      await clock.advance(30_000);
      await stopped;
      expect(abortedAt).toBe(30_000);
      expect(reason).toMatchObject({ code: "SHUTDOWN" });
      const abandoned = await inbox.row("a");
      expect(abandoned).toMatchObject({ state: "processing", attempt: 0, lastError: null });
      expect(first.logger.of("abandoned")).toMatchObject([
        { level: "warn", fields: { id: abandoned.id } },
      ]);

      // The lease ends, and another worker has it.
      await inbox.query(`UPDATE inbox SET lease_expires_at = ${words.later(-1000)}`);
      const attempts: number[] = [];
      const second = work(inbox.another(), async ({ attempt }, tx) => {
        attempts.push(attempt);
        await tx.query(words.effect, ["second"]);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await second.stop();
      expect(attempts).toEqual([0]);
      expect(await inbox.effects()).toEqual(["second"]);
    });

    test("with a grace of 0 aborts the signal at once", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const started = latch();
      const { stop } = work(
        inbox.source,
        async (_message, _tx, signal) => {
          started.open();
          await abortOf(signal);
        },
        { shutdownGraceMs: 0 },
      );
      await started.opened;
      await stop();
      expect(await inbox.row("a")).toMatchObject({ state: "processing", attempt: 0 });
    });

    test('with abandon "release" gives the message back once its handler has ended, whether it returned or threw', async () => {
      const inbox = await openInbox(open, { max: 4 });
      await inbox.insert({ key: "returns" }, { key: "throws" });
      let started = 0;
      const { logger, stop } = work(
        inbox.source,
        async ({ idempotencyKey }, tx, signal) => {
          await tx.query(words.effect, [idempotencyKey]);
          started += 1;
          await abortOf(signal);
          if (idempotencyKey === "throws") throw signal.reason;
        },
        { shutdownGraceMs: 0, abandon: "release", maxConcurrency: 2 },
      );
      await eventually(() => started >= (inbox.source.max === 1 ? 1 : 2));
      await stop();
      expect(await inbox.rows()).toMatchObject([
        { state: "pending", attempt: 0, lastError: null, token: null },
        { state: "pending", attempt: 0, lastError: null, token: null },
      ]);
      expect(logger.of("abandoned")).toHaveLength(started);
      expect(await inbox.effects()).toEqual([]);
    });

    test("is not hung up by a handler that ignores its signal: run ends after a last wait, and an error names the message", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      const started = latch();
      const never = latch();
      const late: unknown[] = [];
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          await tx.query(words.effect, ["a"]);
          started.open();
          await never.opened;
          late.push(await tx.query(words.effect, ["late"]).catch((error: unknown) => error));
        },
        { clock, leaseMs: HOUR, shutdownGraceMs: 1000, abandon: "release" },
      );
      await started.opened;
      let isOver = false;
      const stopped = stop().then(() => {
        isOver = true;
      });
      await clock.advance(1000);
      await clock.advance(4999);
      expect(isOver).toBe(false);
      await clock.advance(2000);
      await stopped;
      const row = await inbox.row("a");
      // Its handler has not ended: nobody else may have it before its lease ends.
      expect(row).toMatchObject({ state: "processing", attempt: 0 });
      expect(logger.of("handler_left_behind")).toMatchObject([
        { level: "error", fields: { id: row.id } },
      ]);
      expect(await inbox.effects()).toEqual([]);
      never.open();
      await eventually(() => late.length === 1);
      expect(late).toMatchObject([{ code: "SHUTDOWN" }]);
      expect(await inbox.effects()).toEqual([]);
    });
  });

  forEachInbox({ connections: "many" }, (open, words) => {
    test("P8: gives back what it holds and has not started, at once, while a handler still runs", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "runs" }, { key: "waits" }, { key: "waits too" });
      const running = latch();
      const first = work(inbox.source, () => running.opened, { batchSize: 3, leaseMs: HOUR });
      await eventually(async () => (await inbox.count("processing")) === 3);
      const stopped = first.stop();
      await eventually(async () => (await inbox.count("pending")) === 2);
      expect(await inbox.row("waits")).toMatchObject({ state: "pending", attempt: 0, token: null });
      expect(await inbox.row("runs")).toMatchObject({ state: "processing" });
      const second = work(inbox.another(), () => {});
      await eventually(async () => (await inbox.count("processed")) === 2);
      await second.stop();
      running.open();
      await stopped;
      expect(await inbox.count("processed")).toBe(3);
    });

    test("waits for the connection that a claim has asked for", async () => {
      const inbox = await openInbox(open);
      const watched = new WatchedSource(inbox.source);
      const { stop } = work(watched, () => {}, { pollIntervalMs: 5 });
      await eventually(() => watched.connects > 2);
      const gate = latch();
      watched.gate = gate.opened;
      const { connects } = watched;
      await eventually(() => watched.connects > connects);
      const stopped = stop();
      gate.open();
      await stopped;
      expect(watched.inUse).toBe(0);
    });

    // It holds up the claim by a lock of PostgreSQL's.
    test.skipIf(words.dialect !== "postgresql")(
      "gives back what a claim that was on its way still brings, and works none of it",
      async () => {
        const inbox = await openInbox(open);
        await inbox.insert({ key: "a" }, { key: "b" });
        const watched = new WatchedSource(inbox.source);
        const blocker = await inbox.another().connect();
        await blocker.begin();
        await blocker.query("LOCK TABLE inbox IN SHARE MODE");
        let deliveries = 0;
        const { stop } = work(watched, () => {
          deliveries += 1;
        });
        // The claim waits for the table: nothing else of the worker would.
        await eventually(async () => {
          const { rowCount } = await inbox.query(
            `SELECT FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock' AND relation = 'inbox'::regclass`,
          );
          return rowCount === 1;
        });
        const stopped = stop();
        await blocker.commit();
        await blocker.release();
        await stopped;
        expect(deliveries).toBe(0);
        expect(watched.inUse).toBe(0);
        for (const row of await inbox.rows()) {
          expect(row).toMatchObject({ state: "pending", attempt: 0, token: null });
        }
      },
    );

    test("stops while the database is away, at once", async () => {
      const inbox = await openInbox(open);
      const clock = new TestClock();
      const watched = new WatchedSource(inbox.source);
      watched.failure = new Error("no route to the database");
      const { logger, stop } = work(watched, () => {}, { clock });
      await eventually(() => logger.of("claim_failed").length === 1);
      await stop();
      expect(clock.timers).toBe(0);
    });
  });
});
