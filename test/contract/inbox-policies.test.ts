import { describe, expect, test } from "vitest";
import {
  deadLetter,
  type InboxFailureAction,
  type InboxRetryPolicy,
  retryAfter,
} from "../../src/queuebox/index.ts";
import { openInbox } from "../support/inbox.ts";
import { forEachInbox } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

describe("the retry policy of a worker", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("decides: it sees the message and the very thing that was thrown, and may take its time", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "dead", attempt: 1 }, { key: "later" }, { key: "object" });
      const failure = new Error("no stock");
      const seen: unknown[] = [];
      const retryPolicy: InboxRetryPolicy = {
        async decide(message, thrown): Promise<InboxFailureAction> {
          seen.push(thrown);
          await Promise.resolve();
          return message.attempt === 1 ? deadLetter() : retryAfter(HOUR);
        },
      };
      const { logger, stop } = work(
        inbox.source,
        () => {
          throw failure;
        },
        { retryPolicy },
      );
      await eventually(() => logger.of("retried").length === 2 && logger.of("dead").length === 1);
      await stop();
      expect(seen).toEqual([failure, failure, failure]);
      expect(seen[0]).toBe(failure);
      expect(await inbox.row("dead")).toMatchObject({ state: "dead", attempt: 1 });
      const { dueInMs } = await inbox.row("later");
      expect(dueInMs).toBeGreaterThan(HOUR - 60_000);
      expect(dueInMs).toBeLessThanOrEqual(HOUR);
    });

    test("is replaced by the default policy where it throws, rejects or answers nonsense, with an error in the log", async () => {
      const answers: Record<string, () => unknown> = {
        throws: () => {
          throw new Error("policy broke");
        },
        rejects: () => Promise.reject(new Error("policy broke")),
        undefined: () => undefined,
        nan: () => ({ retry: true, delayMs: Number.NaN }),
        negative: () => ({ retry: true, delayMs: -1 }),
        infinite: () => ({ retry: true, delayMs: Infinity }),
        text: () => Promise.resolve("retry"),
        hostile: () => revokedProxy(),
      };
      const keys = Object.keys(answers);
      const inbox = await openInbox(open);
      await inbox.insert(...keys.map((key) => ({ key })), { key: "spent", attempt: 5 });
      const { logger, stop } = work(
        inbox.source,
        () => {
          throw new Error("no stock");
        },
        {
          // No poll: what failed is not taken again while the test looks.
          clock: new TestClock(),
          retryPolicy: ({ idempotencyKey }) => answers[idempotencyKey]?.() as InboxFailureAction,
        },
      );
      await eventually(
        () => new Set(logger.of("retried").map(({ fields }) => fields["id"])).size === keys.length,
      );
      await eventually(() => logger.of("dead").length === 1);
      await stop();
      const rows = await inbox.rows();
      const failed = new Set(logger.of("policy_failed").map(({ fields }) => fields["id"]));
      expect(failed).toEqual(new Set(rows.map(({ id }) => id)));
      expect(logger.of("policy_failed").every(({ level }) => level === "error")).toBe(true);
      expect(rows.filter(({ lastError }) => lastError !== "Error: no stock")).toEqual([]);
      expect(rows.filter(({ state }) => state === "pending")).toHaveLength(keys.length);
      expect((await inbox.row("spent")).state).toBe("dead");
    });

    test("F1: changes nothing through a stale claim: what fails after it was stolen is not recorded", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      // The policy runs when the handler's connection is back in its pool.
      const { logger, stop } = work(
        inbox.source,
        () => {
          throw new Error("no stock");
        },
        {
          leaseMs: 600_000,
          retryPolicy: async () => {
            await inbox.query(`UPDATE inbox SET claim_token = ${words.uuid}`);
            return deadLetter();
          },
        },
      );
      await eventually(() => logger.of("lease_lost").length === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({
        state: "processing",
        attempt: 0,
        lastError: null,
      });
      expect(logger.of("dead")).toEqual([]);
    });

    test("is not waited for longer than a lease", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const clock = new TestClock();
      let isAsked = false;
      const { logger, stop } = work(
        inbox.source,
        () => {
          throw new Error("no stock");
        },
        {
          clock,
          leaseMs: 600_000,
          retryPolicy: () => {
            isAsked = true;
            return new Promise(() => {});
          },
        },
      );
      await eventually(() => isAsked);
      await clock.advance(600_000);
      await eventually(() => logger.of("policy_failed").length === 1);
      await eventually(async () => (await inbox.row("a")).attempt === 1);
      await stop();
    });
  });
});

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
