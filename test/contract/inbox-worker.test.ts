import { describe, expect, test } from "vitest";
import { type InboxMessage, InboxWorker } from "../../src/queuebox/index.ts";
import { openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, WatchedSource, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

describe("an inbox worker", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("delivers every field of a message, and null where there is none", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        {
          key: "full",
          aggregateId: "order-1",
          eventType: "order.placed",
          correlationId: "c-1",
          payload: { id: "9", total: 12.5 },
          headers: { a: "1", b: "2" },
          attempt: 2,
          dueInMs: -1000,
        },
        { key: "bare" },
      );
      const seen: InboxMessage[] = [];
      const { stop } = work(inbox.source, (message) => {
        seen.push(message);
      });
      await eventually(() => seen.length === 2);
      await stop();
      const full = await inbox.row("full");
      expect(seen).toEqual([
        {
          id: full.id,
          source: "orders",
          idempotencyKey: "full",
          aggregateId: "order-1",
          eventType: "order.placed",
          correlationId: "c-1",
          payload: { id: "9", total: 12.5 },
          headers: { a: "1", b: "2" },
          attempt: 2,
        },
        {
          id: (await inbox.row("bare")).id,
          source: "orders",
          idempotencyKey: "bare",
          aggregateId: null,
          eventType: null,
          correlationId: null,
          payload: { n: 2 },
          headers: {},
          attempt: 0,
        },
      ]);
    });

    test("commits the handler's writes and the completion together", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { stop } = work(inbox.source, async (message, tx) => {
        await tx.query(words.effect, [message.idempotencyKey]);
        const inside = await tx.query<{ state: string }>("SELECT state FROM inbox");
        expect(inside.rows).toEqual([{ state: "processing" }]);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.effects()).toEqual(["a"]);
      const { rows } = await inbox.query(
        "SELECT claim_token, lease_expires_at, CASE WHEN processed_at IS NULL THEN 0 ELSE 1 END AS done, last_error, attempt FROM inbox",
      );
      expect(rows).toEqual([
        { claim_token: null, lease_expires_at: null, done: 1, last_error: null, attempt: 0 },
      ]);
    });

    test("completes a message whose handler asked the database nothing, sync or async", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" }, { key: "b" });
      const { stop } = work(inbox.source, (message) =>
        message.idempotencyKey === "a" ? undefined : Promise.resolve(),
      );
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
    });

    test("keeps no write of a handler that threw", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const { stop } = work(inbox.source, async (message, tx) => {
        await tx.query(words.effect, [message.idempotencyKey]);
        throw new Error("no stock");
      });
      await eventually(async () => (await inbox.row("a")).attempt === 1);
      await stop();
      expect(await inbox.effects()).toEqual([]);
    });

    test("takes what is pulled, pending and due of its own source, and leaves all else alone", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        { key: "mine" },
        // To SQL Server's usual collation a source is the same in capitals.
        { key: "other source", source: words.dialect === "sqlserver" ? "order" : "Orders" },
        { key: "later", dueInMs: HOUR },
        { key: "pushed" },
        { key: "dead" },
      );
      await inbox.query("UPDATE inbox SET consumption = 'push' WHERE idempotency_key = 'pushed'");
      await inbox.query("UPDATE inbox SET state = 'dead' WHERE idempotency_key = 'dead'");
      const seen: string[] = [];
      const watched = new WatchedSource(inbox.source);
      const { stop } = work(watched, (message) => {
        seen.push(message.idempotencyKey);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      const { connects } = watched;
      await eventually(() => watched.connects >= connects + 2);
      await stop();
      expect(seen).toEqual(["mine"]);
    });

    test("hands twenty messages to two workers in batches of three, none twice", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(...Array.from({ length: 20 }, (_, n) => ({ key: `m-${n}` })));
      const seen: string[] = [];
      const workers = [inbox.source, inbox.another()].map((source) =>
        work(
          source,
          async (message, tx) => {
            await tx.query(words.effect, [message.idempotencyKey]);
            seen.push(message.idempotencyKey);
          },
          { batchSize: 3, maxConcurrency: 3 },
        ),
      );
      await eventually(async () => (await inbox.count("processed")) === 20);
      await Promise.all(workers.map(({ stop }) => stop()));
      expect(seen).toHaveLength(20);
      expect(new Set(seen).size).toBe(20);
      expect(new Set(await inbox.effects()).size).toBe(20);
    });

    test("polls an empty table about once in each interval: at 200 ms, 4 to 20 connections in 2 s", async () => {
      const inbox = await openInbox(open);
      const watched = new WatchedSource(inbox.source);
      const clock = new TestClock();
      const { stop } = work(watched, () => {}, { clock, pollIntervalMs: 200 });
      const rests = new Set<number>();
      // The limits of statements under way are timers too, and longer ones.
      const isResting = () =>
        watched.inUse === 0 && clock.timers === 1 && Number(clock.next) < 1000;
      // The first look at the table takes a connection as well.
      await eventually(() => watched.connects === 2 && isResting());
      while (clock.monotonic() < 2000) {
        const { connects } = watched;
        const rest = clock.next ?? Number.NaN;
        expect(rest).toBeGreaterThanOrEqual(160);
        expect(rest).toBeLessThanOrEqual(240);
        rests.add(rest);
        await clock.advance(rest);
        await eventually(() => watched.connects > connects && isResting());
      }
      await stop();
      expect(watched.connects).toBeGreaterThanOrEqual(4);
      expect(watched.connects).toBeLessThanOrEqual(20);
      // With jitter, so that workers do not poll in step.
      expect(rests.size).toBeGreaterThan(1);
    });

    test("P7: a second run at the same time is refused; after a stop the worker runs again", async () => {
      const inbox = await openInbox(open);
      const seen: string[] = [];
      const worker = new InboxWorker(inbox.source, {
        dialect: words.dialect,
        source: "orders",
        pollIntervalMs: 20,
      });
      for (const key of ["first", "second"]) {
        const controller = new AbortController();
        const running = worker.run((message) => {
          seen.push(message.idempotencyKey);
        }, controller.signal);
        const again = worker.run(() => {});
        await expect(again).rejects.toMatchObject({ code: "ALREADY_RUNNING" });
        await inbox.insert({ key });
        await eventually(() => seen.includes(key));
        controller.abort();
        controller.abort();
        await running;
      }
      expect(seen).toEqual(["first", "second"]);
    });

    test("P7: a signal that had aborted before the start ends the run without a query", async () => {
      const inbox = await openInbox(open);
      const watched = new WatchedSource(inbox.source);
      const worker = new InboxWorker(watched, { dialect: words.dialect, source: "orders" });
      await worker.run(() => {}, AbortSignal.abort());
      expect(watched.connects).toBe(0);
    });

    test("P6: takes nothing new after a stop, and sends nothing", async () => {
      const inbox = await openInbox(open);
      const watched = new WatchedSource(inbox.source);
      const clock = new TestClock();
      await inbox.insert({ key: "before" });
      const { stop } = work(watched, () => {}, { clock });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      const { connects } = watched;
      await inbox.insert({ key: "after" });
      await clock.advance(HOUR);
      expect(clock.timers).toBe(0);
      expect(watched.connects).toBe(connects);
      expect(watched.inUse).toBe(0);
      expect((await inbox.row("after")).state).toBe("pending");
    });
  });

  forEachInbox({ connections: "many" }, (open, words) => {
    test("does not overlap messages of one aggregate across two workers, and does overlap two aggregates", async () => {
      const inbox = await openInbox(open);
      const busy = new Set<string>();
      const done: string[] = [];
      const both = latch();
      let overlaps = 0;
      for (const n of [1, 2, 3, 4]) await inbox.insert({ key: `a-${n}`, aggregateId: "a" });
      for (const n of [1, 2]) await inbox.insert({ key: `b-${n}`, aggregateId: "b" });
      const workers = [inbox.source, inbox.another()].map((source) =>
        work(
          source,
          async ({ aggregateId, idempotencyKey }, tx) => {
            const aggregate = aggregateId ?? "";
            if (busy.has(aggregate)) overlaps += 1;
            busy.add(aggregate);
            if (busy.size === 2) both.open();
            await tx.query(words.effect, [idempotencyKey]);
            await both.opened;
            done.push(idempotencyKey);
            busy.delete(aggregate);
          },
          { maxConcurrency: 4 },
        ),
      );
      await eventually(async () => (await inbox.count("processed")) === 6);
      await Promise.all(workers.map(({ stop }) => stop()));
      expect(overlaps).toBe(0);
      const ofA = done.filter((key) => key.startsWith("a"));
      expect(ofA).toEqual(["a-1", "a-2", "a-3", "a-4"]);
    });

    test("D6: the host's clock does not matter: due is what the database says", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "due", dueInMs: -1 }, { key: "later", dueInMs: HOUR });
      const now = Date.now;
      Date.now = () => now() + 2 * HOUR;
      try {
        const { stop } = work(inbox.source, () => {});
        await eventually(async () => (await inbox.row("due")).state === "processed");
        await stop();
      } finally {
        Date.now = now;
      }
      expect((await inbox.row("later")).state).toBe("pending");
    });
  });
});
