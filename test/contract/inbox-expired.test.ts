import { describe, expect, test } from "vitest";
import type { InboxOptions } from "../../src/queuebox/index.ts";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { inboxWords } from "../support/inbox-words.ts";
import { forEachInbox } from "../support/sources.ts";
import { eventually, WatchedSource, work } from "../support/work-inbox.ts";

/** A message whose worker died: in work, and its lease is over. */
async function insertExpired(inbox: OpenedInbox, key: string, attempt = 0): Promise<void> {
  const { later, uuid } = inboxWords(inbox.dialect);
  await inbox.insert({ key, attempt });
  await inbox.query(`UPDATE inbox SET state = 'processing', claim_token = ${uuid}, claimed_at = ${later(0)},
    lease_expires_at = ${later(-1000)} WHERE idempotency_key = '${key}'`);
}

describe("a message whose lease ran out", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("P11: because the event loop stood still is lost and keeps nothing, and the log says why", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      let deliveries = 0;
      const { logger, stop } = work(
        inbox.source,
        async (_message, tx) => {
          await tx.query(words.effect, ["a"]);
          deliveries += 1;
          if (deliveries === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
        },
        { leaseMs: 500 },
      );
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.effects()).toEqual(["a"]);
      expect(deliveries).toBe(2);
      const [lost] = logger.of("lease_lost");
      expect(lost?.fields["error"]).toMatch(/event loop was blocked/);
      expect(logger.of("expired_lease_claimed")).toMatchObject([{ level: "warn" }]);
      expect(await inbox.row("a")).toMatchObject({ attempt: 0 });
    });

    test("S1: comes again when its worker died, spends no attempt, and is named in a warning", async () => {
      const inbox = await openInbox(open);
      await insertExpired(inbox, "a", 5);
      const attempts: number[] = [];
      const { logger, stop } = work(inbox.source, ({ attempt }) => {
        attempts.push(attempt);
      });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(attempts).toEqual([5]);
      const { id } = await inbox.row("a");
      expect(logger.of("expired_lease_claimed")).toMatchObject([
        { level: "warn", fields: { id, source: "orders", attempt: 5 } },
      ]);
    });

    test("with chargeExpired has spent an attempt, and one that kills its workers dies at the ceiling unheard", async () => {
      const inbox = await openInbox(open);
      await insertExpired(inbox, "again", 1);
      await insertExpired(inbox, "killer", 5);
      await inbox.insert({ key: "fresh" });
      const seen: Record<string, number> = {};
      const failures: unknown[] = [];
      const options: Partial<InboxOptions> = {
        chargeExpired: true,
        retryPolicy: (message, failure) => {
          failures.push(failure);
          return message.attempt >= 5 ? { retry: false } : { retry: true, delayMs: 0 };
        },
      };
      const { stop } = work(
        inbox.source,
        ({ idempotencyKey, attempt }) => {
          seen[idempotencyKey] = attempt;
        },
        options,
      );
      await eventually(async () => (await inbox.count("processed")) === 2);
      await eventually(async () => (await inbox.count("dead")) === 1);
      await stop();
      expect(seen).toEqual({ again: 2, fresh: 0 });
      expect(failures).toHaveLength(2);
      expect(failures[0]).toMatchObject({ code: "LEASE_EXPIRED" });
      const { lastError } = await inbox.row("killer");
      expect(lastError).toMatch(/the lease of .* expired: its worker died or stalled/);
    });

    test("what chargeExpired counted is taken off again when the message is given back unstarted", async () => {
      const inbox = await openInbox(open);
      await insertExpired(inbox, "a", 1);
      const watched = new WatchedSource(inbox.source);
      // The look at the table and the claim get their connections, the handler does not.
      const { logger, stop } = work(watched, () => {}, {
        chargeExpired: true,
        retryPolicy: async () => {
          watched.failure = new Error("no connections left");
          watched.failures = 1;
          return { retry: true, delayMs: 0 };
        },
      });
      await eventually(async () => logger.of("no_connection").length === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 1 });
    });
  });
});
