import { describe, expect, test } from "vitest";
import { type InboxMessage, InboxWorker } from "../../src/queuebox/index.ts";
import { EFFECT, LineLogger, openInbox, start } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("an inbox worker", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
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
      const worker = new InboxWorker(inbox.source, { source: "orders" });
      const running = start((signal) =>
        worker.run(async (message) => {
          seen.push(message);
        }, signal),
      );
      await until(() => seen.length === 2);
      await running.stop();
      expect(seen).toMatchObject([
        {
          source: "orders",
          idempotencyKey: "full",
          aggregateId: "order-1",
          eventType: "order.placed",
          correlationId: "c-1",
          payload: { id: "9", total: 12.5 },
          headers: { a: "1", b: "2" },
          attempt: 2,
        },
        { aggregateId: null, eventType: null, correlationId: null, headers: {}, attempt: 0 },
      ]);
      expect(Object.keys(seen[0] ?? {})).not.toContain("token");
    });

    test("commits the handler's writes and the completion together", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const worker = new InboxWorker(inbox.source, { source: "orders" });
      const running = start((signal) =>
        worker.run(async (message, tx) => {
          await tx.query(EFFECT, [message.idempotencyKey]);
        }, signal),
      );
      await until(async () => (await inbox.count("processed")) === 1);
      await running.stop();
      expect(await inbox.effects()).toEqual(["a"]);
    });

    test("keeps no write of a handler that threw, and retries with backoff", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const logger = new LineLogger();
      const worker = new InboxWorker(inbox.source, { source: "orders", logger });
      const running = start((signal) =>
        worker.run(async (message, tx) => {
          await tx.query(EFFECT, [message.idempotencyKey]);
          throw new Error("no stock");
        }, signal),
      );
      await until(async () => (await inbox.row("a")).attempt === 1);
      await running.stop();
      expect(await inbox.effects()).toEqual([]);
      expect(await inbox.row("a")).toMatchObject({ state: "pending", attempt: 1, lastError: "Error: no stock" });
      expect((await inbox.row("a")).dueInMs).toBeGreaterThan(0);
      expect(logger.of("retried")).toHaveLength(1);
    });
  });
});
