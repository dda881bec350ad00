import { describe, expect, test } from "vitest";
import { deadLetter } from "../../src/queuebox/index.ts";
import { EFFECT, openInbox } from "../support/inbox.ts";
import { forEachInbox, forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, work } from "../support/work-inbox.ts";

// With a clock that stands still there is no poll: what failed is not taken again while a test looks.
describe("a message that fails", () => {
  forEachInbox({ connections: "one" }, (open, words) => {
    test("comes again later, with its attempts counted and the error on the row", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "first" }, { key: "fourth", attempt: 3 });
      const { logger, stop } = work(
        inbox.source,
        () => {
          throw new Error("no stock");
        },
        { clock: new TestClock() },
      );
      await eventually(() => logger.of("retried").length >= 2);
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
        await inbox.query(
          `UPDATE inbox SET scheduled_at = ${words.later(0)} WHERE state = 'pending'`,
        );
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
      const { logger, stop } = work(
        inbox.source,
        ({ idempotencyKey }) => {
          throw thrown[idempotencyKey];
        },
        { clock: new TestClock() },
      );
      await eventually(async () => {
        const rows = await inbox.rows();
        return rows.every(({ attempt, state }) => attempt > 0 && state === "pending");
      });
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

    test("is retried all the same where the logger throws", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "a" });
      const broken = () => {
        throw new Error("disk full");
      };
      const { stop } = work(
        inbox.source,
        () => {
          throw new Error("no stock");
        },
        { clock: new TestClock(), logger: { info: broken, warn: broken, error: broken } },
      );
      await eventually(async () => (await inbox.row("a")).attempt === 1);
      await stop();
      expect(await inbox.row("a")).toMatchObject({
        state: "pending",
        lastError: "Error: no stock",
      });
    });

    test("P4: an error's text is cut to 2000 characters, and NUL characters are taken out", async () => {
      const inbox = await openInbox(open);
      await inbox.insert({ key: "long" }, { key: "nul" });
      const { logger, stop } = work(
        inbox.source,
        ({ idempotencyKey }) => {
          throw new Error(idempotencyKey === "nul" ? "a\0b\0" : "x".repeat(1_000_000));
        },
        { clock: new TestClock() },
      );
      await eventually(() => logger.of("retried").length >= 2);
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
          if (idempotencyKey !== "caused")
            // biome-ignore lint/style/useThrowOnlyError: what is thrown is anybody's choice
            throw { password: ["hunter2"], url: "https://app:hunter2@host/" };
          const cause = new Error("Authorization: Bearer hunter2hunter2hunter2");
          throw new Error("postgres://app:hunter2@db:5432/shop refused, password=hunter2", {
            cause,
          });
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
      expect((await inbox.row("caused")).lastError).toContain(
        "postgres://***@db:5432/shop refused",
      );
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
