import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  deadLetter,
  defaultRetryPolicy,
  type InboxRetryPolicy,
  InboxWorker,
  PayloadError,
} from "../../src/queuebox/index.ts";
import { EFFECT, LineLogger, openInbox, start } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, latch, work } from "../support/work-inbox.ts";

/** Never retries what will not parse any better the next time. */
const noRetryOfPoison: InboxRetryPolicy = (message, failure) =>
  failure instanceof PayloadError ? deadLetter() : defaultRetryPolicy()(message, failure);

describe("a poison row", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("fails alone, by the policy and with its id in the log; its neighbours of the same claim are handled", async () => {
      const inbox = await openInbox(open);
      await inbox.query("ALTER TABLE inbox ALTER COLUMN payload TYPE text");
      await inbox.insert(
        { key: "good-1" },
        { key: "payload" },
        { key: "nested", headers: { a: { b: 1 } } },
        { key: "array", headers: [1] as unknown as Record<string, string> },
        { key: "good-2" },
      );
      await inbox.query(
        "UPDATE inbox SET payload = '{\"secret\": ' WHERE idempotency_key = 'payload'",
      );
      await inbox.query("UPDATE inbox SET headers = '\"text\"' WHERE idempotency_key = 'array'");
      const policy: unknown[] = [];
      const { logger, stop } = work(
        inbox.source,
        async ({ idempotencyKey }, tx) => {
          await tx.query(EFFECT, [idempotencyKey]);
        },
        {
          retryPolicy: (message, failure) => {
            policy.push(message.idempotencyKey);
            return failure instanceof PayloadError ? deadLetter() : { retry: true, delayMs: 0 };
          },
        },
      );
      await eventually(async () => (await inbox.count("dead")) === 3);
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
      expect((await inbox.effects()).toSorted()).toEqual(["good-1", "good-2"]);
      expect(policy.toSorted()).toEqual(["array", "nested", "payload"]);
      const payload = await inbox.row("payload");
      expect(payload.lastError).toMatch(/^PayloadError: the payload is no JSON \(11 characters\)/);
      expect((await inbox.row("nested")).lastError).toMatch(/headers are no flat JSON object: "a"/);
      expect(logger.of("dead").map(({ fields }) => fields["id"])).toContain(payload.id);
      expect(JSON.stringify(logger.lines)).not.toContain("secret");
    });

    test("is retried like any failure where the policy does not tell it apart", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a", headers: { a: [] } });
      const { logger, stop } = work(inbox.source, () => {});
      await eventually(() => logger.of("retried").length === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ state: "pending", attempt: 1 });
    });
  });
});

describe("what a handler gets of payload and headers", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("O4: JSON as it is: a string stays that string, and null headers are none", async () => {
      const inbox = await openInbox(open);
      await inbox.query("ALTER TABLE inbox ALTER COLUMN headers DROP NOT NULL");
      const payloads: readonly unknown[] = [
        "123",
        '{"a":1}',
        123,
        true,
        [],
        { a: null },
        "null",
        "",
      ];
      await inbox.insert(...payloads.map((payload, n) => ({ key: `p-${n}`, payload })), {
        key: "null",
      });
      await inbox.query(
        "UPDATE inbox SET payload = 'null', headers = NULL WHERE idempotency_key = 'null'",
      );
      await inbox.query("UPDATE inbox SET headers = 'null' WHERE idempotency_key = 'p-0'");
      const seen: unknown[] = [];
      const headers: unknown[] = [];
      const { stop } = work(inbox.source, (message) => {
        seen.push(message.payload);
        headers.push(message.headers);
      });
      await eventually(() => seen.length === payloads.length + 1);
      await stop();
      expect(seen).toEqual([...payloads, null]);
      expect(headers.every((each) => JSON.stringify(each) === "{}")).toBe(true);
    });

    test("D2: with payload text, every digit of a large integer", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      await inbox.query(`UPDATE inbox SET payload = '{"id": 9007199254740993}'`);
      const seen: unknown[] = [];
      const { stop } = work(
        inbox.source,
        ({ payload }) => {
          seen.push(payload);
        },
        { payload: "text" },
      );
      await eventually(() => seen.length === 1);
      await stop();
      expect(seen).toEqual(['{"id": 9007199254740993}']);
    });

    test("a schema that never answers holds up its message alone, and no stop", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "stuck" });
      const clock = new TestClock();
      const validating = latch();
      let calls = 0;
      const { logger, stop } = work(
        inbox.source,
        async () => {
          calls += 1;
        },
        {
          clock,
          leaseMs: 3_600_000,
          shutdownGraceMs: 0,
          payload: {
            "~standard": {
              version: 1,
              vendor: "test",
              validate: () => {
                validating.open();
                return new Promise<never>(() => {});
              },
            },
          },
        },
      );
      await validating.opened;
      const stopped = stop();
      await clock.advance(1);
      await stopped;
      expect(calls).toBe(0);
      expect(clock.timers).toBe(0);
      expect(logger.of("abandoned")).toHaveLength(1);
      expect(await inbox.row("stuck")).toMatchObject({ state: "processing", attempt: 0 });
    });

    test("with a schema, its typed output; what it refuses fails by the policy and reaches no handler", async () => {
      const inbox = await openInbox(open);
      await inbox.insert(
        { key: "good", payload: { total: "12.5" } },
        { key: "bad", payload: { total: 12.5 } },
      );
      const logger = new LineLogger();
      const worker = new InboxWorker(inbox.source, {
        source: "orders",
        payload: z.object({ total: z.string().transform(Number) }),
        retryPolicy: noRetryOfPoison,
        logger,
      });
      const totals: number[] = [];
      const running = start((signal) =>
        worker.run(({ payload }) => {
          totals.push(payload.total);
        }, signal),
      );
      await eventually(async () => (await inbox.count("dead")) === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await running.stop();
      expect(totals).toEqual([12.5]);
      expect((await inbox.row("bad")).lastError).toMatch(
        /PayloadError: the payload does not fit its schema: total: /,
      );
    });
  });
});
