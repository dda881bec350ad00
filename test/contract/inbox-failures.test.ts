import { describe, expect, test } from "vitest";
import {
  deadLetter,
  type InboxFailureAction,
  type InboxRetryPolicy,
  retryAfter,
} from "../../src/queuebox/index.ts";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;

describe("a message that fails", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("comes again later, with its attempts counted and the error on the row", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "first" }, { key: "fourth", attempt: 3 });
      const { logger, stop } = work(inbox.source, () => {
        throw new Error("no stock");
      });
      await eventually(() => logger.of("retried").length === 2);
      await stop();
      const first = await inbox.row("first");
      expect(first).toMatchObject({
        state: "pending",
        attempt: 1,
        lastError: "Error: no stock",
        token: null,
      });
      expect(first.dueInMs).toBeGreaterThan(0);
      expect(first.dueInMs).toBeLessThanOrEqual(1200);
      const fourth = await inbox.row("fourth");
      expect(fourth.attempt).toBe(4);
      expect(fourth.dueInMs).toBeGreaterThan(2000);
      expect(fourth.dueInMs).toBeLessThanOrEqual(9600);
      expect(logger.of("retried")[0]).toMatchObject({
        level: "warn",
        fields: { source: "orders", id: first.id, attempt: 0, error: "Error: no stock" },
      });
    });

    test("is dead at the policy's ceiling, its attempts and its neighbours untouched", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "bad", attempt: 5 }, { key: "good" });
      const { logger, stop } = work(inbox.source, ({ idempotencyKey }) => {
        if (idempotencyKey === "bad") throw new Error("no stock");
      });
      await eventually(async () => (await inbox.count("dead")) === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("bad")).toMatchObject({
        state: "dead",
        attempt: 5,
        lastError: "Error: no stock",
        token: null,
      });
      expect(logger.of("dead")).toHaveLength(1);
    });

    test("is delivered six times by default, and never again", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const attempts: number[] = [];
      const { stop } = work(inbox.source, async ({ attempt }, tx) => {
        attempts.push(attempt);
        await tx.query("UPDATE inbox SET scheduled_at = scheduled_at");
        throw new Error("no stock");
      });
      for (let failures = 1; failures <= 5; failures++) {
        await eventually(async () => (await inbox.row("a")).attempt === failures);
        await inbox.query("UPDATE inbox SET scheduled_at = now() WHERE state = 'pending'");
      }
      await eventually(async () => (await inbox.count("dead")) === 1);
      await stop();
      expect(attempts).toEqual([0, 1, 2, 3, 4, 5]);
    });

    test("P12: whatever was thrown is recorded as something useful, and retried", async () => {
      const cyclic = new Error("around");
      cyclic.cause = cyclic;
      const hostile = new Error("x");
      Object.defineProperty(hostile, "message", {
        get() {
          throw new Error("no message for you");
        },
      });
      const thrown: Record<string, unknown> = {
        undefined: undefined,
        null: null,
        string: "out of stock",
        number: 42,
        bigint: 9007199254740993n,
        object: { reason: "closed" },
        frozen: Object.freeze(new Error("frozen")),
        cyclic,
        hostile,
        revoked: revokedProxy(),
        aggregate: new AggregateError([new Error("a"), new Error("b")], "both"),
      };
      const inbox = await openInbox(open);
      const keys = Object.keys(thrown);
      await inbox.insert(...keys.map((key) => ({ key })));
      const { logger, stop } = work(inbox.source, ({ idempotencyKey }) => {
        throw thrown[idempotencyKey];
      });
      await eventually(() => logger.of("retried").length === keys.length);
      await stop();
      const errors = Object.fromEntries(
        (await inbox.rows()).map(({ key, lastError }) => [key, lastError]),
      );
      expect(errors).toMatchObject({
        undefined: "non-error value undefined",
        null: "non-error value null",
        string: "out of stock",
        number: "non-error value 42",
        bigint: "non-error value 9007199254740993",
        object: 'non-error value {"reason":"closed"}',
        frozen: "Error: frozen",
        cyclic: "Error: around",
        aggregate: "AggregateError: both [Error: a; Error: b]",
      });
      expect(errors["hostile"]).toMatch(/^Error/);
      expect(errors["revoked"]).toBeTruthy();
      expect(logger.of("internal_error")).toEqual([]);
    });

    test("P4: an error's text is cut to 2000 characters, and NUL characters are taken out", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "long" }, { key: "nul" });
      const { logger, stop } = work(inbox.source, ({ idempotencyKey }) => {
        throw new Error(idempotencyKey === "nul" ? "a\0b\0" : "x".repeat(1_000_000));
      });
      await eventually(() => logger.of("retried").length === 2);
      await stop();
      expect((await inbox.row("nul")).lastError).toBe("Error: ab");
      const long = (await inbox.row("long")).lastError ?? "";
      expect(long).toHaveLength(2000);
      expect(long.endsWith("...[truncated]")).toBe(true);
    });

    test("shows no secret, in no log line and not on its row", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "thrown" }, { key: "caused" }, { key: "policy" });
      const { logger, stop } = work(
        inbox.source,
        ({ idempotencyKey }) => {
          if (idempotencyKey !== "caused") throw { password: ["hunter2"], url: "https://app:hunter2@host/" };
          const cause = new Error("Authorization: Bearer hunter2hunter2hunter2");
          throw new Error("postgres://app:hunter2@db:5432/shop refused, password=hunter2", { cause });
        },
        {
          retryPolicy: ({ idempotencyKey }) => {
            if (idempotencyKey === "policy") throw new Error("api_key=hunter2");
            return deadLetter();
          },
        },
      );
      await eventually(async () => (await inbox.count("dead")) === 2);
      await eventually(() => logger.of("policy_failed").length === 1);
      await eventually(() => logger.of("retried").length === 1);
      await stop();
      expect(JSON.stringify(logger.lines)).not.toContain("hunter2");
      expect(JSON.stringify(await inbox.rows())).not.toContain("hunter2");
      expect((await inbox.row("caused")).lastError).toContain("postgres://***@db:5432/shop refused");
    });

    test("is the policy's to decide: it sees the message and the very thing that was thrown, and may take its time", async () => {
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

    test("falls to the default policy where its own throws, rejects or answers nonsense, with an error in the log", async () => {
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
          retryPolicy: ({ idempotencyKey }) =>
            answers[idempotencyKey]?.() as InboxFailureAction,
        },
      );
      await eventually(() => logger.of("retried").length === keys.length);
      await eventually(() => logger.of("dead").length === 1);
      await stop();
      expect(logger.of("policy_failed")).toHaveLength(keys.length + 1);
      expect(logger.of("policy_failed").every(({ level }) => level === "error")).toBe(true);
      for (const key of keys) {
        expect(await inbox.row(key)).toMatchObject({
          state: "pending",
          attempt: 1,
          lastError: "Error: no stock",
        });
      }
      expect((await inbox.row("spent")).state).toBe("dead");
    });

    test("a stale claim changes nothing: what fails after it was stolen is not recorded", async () => {
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
            await inbox.query("UPDATE inbox SET claim_token = gen_random_uuid()");
            return deadLetter();
          },
        },
      );
      await eventually(() => logger.of("lease_lost").length === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ state: "processing", attempt: 0, lastError: null });
      expect(logger.of("dead")).toEqual([]);
    });

    test("does not wait longer than a lease for a policy that never answers", async () => {
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

  forEachSource({ connections: "many" }, (_name, open) => {
    test("T2: is recorded with its own error where the rollback fails, and the connection is not used again", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" }, { key: "b" });
      const { logger, stop } = work(inbox.source, async ({ idempotencyKey }, tx) => {
        const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        await tx.query(EFFECT, [idempotencyKey]);
        if (idempotencyKey === "b") return;
        await inbox.query("SELECT pg_terminate_backend($1, 5000)", [rows[0]?.pid]);
        throw new Error("no stock");
      });
      await eventually(() => logger.of("retried").length === 1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({ attempt: 1, lastError: "Error: no stock" });
      expect(await inbox.effects()).toEqual(["b"]);
    });
  });
});

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
