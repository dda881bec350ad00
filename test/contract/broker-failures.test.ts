import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { type DecodeError, SchemaError } from "../../src/errors.ts";
import { deadLetter, drop, retry, retryAfter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { formsOf, LeaseJobs, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Bytes, since JSON columns take nothing that does not decode; no due time, no attempt. */
const BareJobs = inboxTable("bare_jobs", {
  columns: {
    id: c.integer().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.bytes().payload(),
  },
});

describe("rows that fail", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`51, ${form}: a throw is retried after an exponential delay, its attempt counted`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker, logger } = testBroker(db.source);
        const attempts: unknown[] = [];
        broker.subscribe(queue, { retry: { baseDelayMs: 30, jitter: 0 } }, (_, { attempt }) => {
          attempts.push(attempt);
          if (attempts.length < 4) throw new Error("no stock");
        });
        await queue.insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(attempts).toEqual([1, 2, 3, 4]);
        expect(logger.of("retried").map(({ fields }) => fields.delayMs)).toEqual([30, 60, 120]);
        expect(broker.stats()).toMatchObject([
          { settled: { retryAfter: 3, ack: 1 }, lastError: expect.stringContaining("no stock") },
        ]);
      });

      test(`53, ${form}: at maxAttempts the row goes to the dead letter, where its attempt starts anew`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const failed = Jobs.queue("failed");
        const { broker, logger } = testBroker(db.source);
        const seen: string[] = [];
        broker.subscribe(
          queue,
          { maxAttempts: 3, deadLetter: failed, onFailure: { throw: retry() } },
          (_, { attempt }) => {
            seen.push(`a ${attempt}`);
            throw new Error("no stock");
          },
        );
        broker.subscribe(failed, (message, { attempt, headers }) => {
          seen.push(`failed ${attempt} ${message} ${headers.trace}`);
        });
        await queue.insert(db.source, "x", { headers: { trace: "t" } });
        await broker.start();
        await until(() => broker.stats()[1]?.settled.ack === 1);
        await broker.stop();
        expect(seen).toEqual(["a 1", "a 2", "a 3", "failed 1 x t"]);
        expect(logger.of("dead")).toMatchObject([{ level: "error", fields: { attempt: 3 } }]);
      });

      test(`24, ${form}: a row beyond its attempts goes to the dead letter without the handler`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(queue, { maxAttempts: 3, deadLetter: Jobs.queue("failed") }, (message) => {
          seen.push(message);
        });
        await Jobs.insert(db.source, { grp: "a", payload: "spent", attempt: 4 });
        await Jobs.insert(db.source, { grp: "a", payload: "last", attempt: 3 });
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        await until(() => broker.stats()[0]?.settled.deadLetter === 1);
        await broker.stop();
        expect(seen).toEqual(["last"]);
        const rows = await db.rows(Jobs);
        expect(rows).toMatchObject([{ grp: "failed", attempt: 1 }]);
        expect(rows[0]?.reason).toContain("all 3 attempts");
      });

      test(`51, ${form}: the policy for throws gets the error and the context, and decides`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const asked: unknown[] = [];
        broker.subscribe(
          queue,
          {
            deadLetter: Jobs.queue("failed"),
            onFailure: {
              throw: (error, { attempt, id }) => {
                asked.push([String(error), attempt, typeof id]);
                return deadLetter("hopeless");
              },
            },
          },
          () => {
            throw new Error("no stock");
          },
        );
        await queue.insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.settled.deadLetter === 1);
        expect(asked).toEqual([["Error: no stock", 1, "bigint"]]);
        expect(await db.rows(Jobs)).toMatchObject([{ grp: "failed", reason: "hopeless" }]);
      });
    }

    test("51: a policy that throws, or answers nonsense, is logged and the default decides", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker, logger } = testBroker(db.source);
      let asked = 0;
      broker.subscribe(
        queue,
        {
          retry: { baseDelayMs: 0 },
          onFailure: {
            throw: () => {
              asked += 1;
              if (asked === 1) throw new Error("the policy is broken");
              if (asked === 2) return deadLetter("there is no dead letter");
              return "again" as never;
            },
          },
        },
        () => {
          if (asked < 3) throw new Error("no stock");
        },
      );
      await queue.insert(db.source, "x");
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(logger.of("policy_failed").map(({ fields }) => fields.error)).toEqual([
        expect.stringContaining("the policy is broken"),
        expect.stringContaining("deadLetter() takes a subscription with the option deadLetter"),
        expect.stringContaining("it answered none of ack()"),
      ]);
    });

    test("55: a row that does not decode is dropped with an error, alone", async () => {
      const db = await openTables(open, [BareJobs]);
      const insert = `INSERT INTO bare_jobs (payload) VALUES (${target.dialect.placeholder(1)})`;
      const queue = BareJobs.queue();
      const { broker, logger } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(queue, { batch: 10 }, (messages) => {
        seen.push(...messages);
      });
      for (const text of ['{"a":1}', "{", '"b"']) {
        await db.query(insert, [Buffer.from(text)]);
      }
      await db.query(insert, [Buffer.from([0xff, 0x00])]);
      await broker.start();
      await until(async () => (await db.query("SELECT 1 FROM bare_jobs")).rows.length === 0);
      await broker.stop();
      expect(seen).toEqual([{ a: 1 }, "b"]);
      expect(logger.of("decode_failed").map(({ fields }) => [fields.id, fields.verdict])).toEqual([
        ["2", "drop"],
        ["4", "drop"],
      ]);
      expect(JSON.stringify(logger.lines)).not.toContain('"a\\":1');
    });

    test("55: onFailure.decode decides, and gets a DecodeError and the attempt", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const strict = LeaseJobs.queue("a", {
        payload: {
          decode: (text: string) => {
            if (text.includes("bad")) throw new Error("a codec's own error");
            return text;
          },
          encode: (text: string) => JSON.stringify(text),
        },
      });
      const { broker } = testBroker(db.source);
      const asked: unknown[] = [];
      const seen: unknown[] = [];
      broker.subscribe(
        strict,
        {
          deadLetter: LeaseJobs.queue("failed"),
          onFailure: {
            decode: (error, { attempt }) => {
              asked.push([(error as DecodeError).code, attempt]);
              return attempt === 1 ? retryAfter(0) : deadLetter();
            },
          },
        },
        (message) => {
          seen.push(message);
        },
      );
      await strict.insert(db.source, ["bad", "good"]);
      await broker.start();
      await until(() => broker.stats()[0]?.settled.deadLetter === 1);
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(seen).toEqual(['"good"']);
      expect(asked).toEqual([
        ["DECODE", 1],
        ["DECODE", 2],
      ]);
      const [row] = await db.rows(LeaseJobs);
      expect(row).toMatchObject({ grp: "failed" });
      expect(row?.reason).toContain("codec refused the payload");
    });

    test("52: retryAfter on a table without a due column comes at once, with one warning", async () => {
      const db = await openTables(open, [BareJobs]);
      const queue = BareJobs.queue();
      const { broker, logger } = testBroker(db.source);
      let calls = 0;
      broker.subscribe(queue, () => {
        calls += 1;
        return calls < 4 ? retryAfter("1h") : undefined;
      });
      await queue.insert(db.source, "x");
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(broker.stats()[0]?.settled.retry).toBe(3);
      expect(logger.of("retry_without_delay")).toMatchObject([{ level: "warn" }]);
    });

    const again = {
      throws: { least: [50, 100, 200], handler: () => Promise.reject(new Error("no stock")) },
      // Asked for again once, a row costs nobody a wait.
      "is returned with retry()": { least: [0, 50, 100, 200], handler: () => retry() },
      "is returned with retryAfter()": { least: [0, 50, 100, 200], handler: () => retryAfter(1) },
    };
    for (const [name, { handler, least }] of Object.entries(again)) {
      test(`51: without a due column a row whose handler ${name} is no hot loop`, async () => {
        const db = await openTables(open, [BareJobs]);
        const queue = BareJobs.queue();
        const { broker } = testBroker(db.source, { pollIntervalMs: 50 });
        const at: number[] = [];
        broker.subscribe(queue, () => {
          at.push(performance.now());
          return at.length <= least.length ? handler() : undefined;
        });
        await queue.insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
        // A timer may ring a millisecond early; a busy machine only makes them longer.
        for (const [index, wait] of least.entries()) {
          expect(waits[index]).toBeGreaterThanOrEqual(wait - 2);
        }
      });
    }

    test("51, 55: a row that does not decode, and is to come again at once, is no hot loop", async () => {
      const db = await openTables(open, [BareJobs]);
      const { broker } = testBroker(db.source, { pollIntervalMs: 50 });
      const at: number[] = [];
      broker.subscribe(
        BareJobs.queue(),
        {
          onFailure: {
            decode: () => {
              at.push(performance.now());
              return at.length < 4 ? retry() : drop();
            },
          },
        },
        () => undefined,
      );
      await BareJobs.insert(db.source, { payload: Buffer.from("{") });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.drop === 1);
      const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
      for (const [index, least] of [50, 100, 200].entries()) {
        expect(waits[index]).toBeGreaterThanOrEqual(least - 2);
      }
    });

    test("P12: whatever is thrown is recorded and retried", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const loop: { cause?: unknown } = new Error("a loop");
      loop.cause = loop;
      const hostile = new Error("hostile");
      Object.defineProperty(hostile, "message", {
        get() {
          throw new Error("no message for you");
        },
      });
      const thrown = [
        undefined,
        null,
        "text",
        7n,
        Object.freeze(new Error("frozen")),
        loop,
        hostile,
      ];
      const left = [...thrown];
      broker.subscribe(queue, { retry: { baseDelayMs: 0 } }, () => {
        if (left.length > 0) throw left.shift();
      });
      await queue.insert(db.source, "x");
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(broker.stats()[0]?.settled.retryAfter).toBe(thrown.length);
    });

    test("50: an answer that is no outcome is a failure, and says what a handler returns", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(queue, { onFailure: { throw: drop() } }, (() => retry) as never);
      broker.subscribe(LeaseJobs.queue("b"), { batch: 5, onFailure: { throw: drop() } }, () => [
        retry(),
      ]);
      await queue.insert(db.source, "x");
      await LeaseJobs.queue("b").insert(db.source, ["y", "z"]);
      const errors: unknown[] = [];
      await broker.start();
      await until(() => broker.stats().every(({ settled }) => settled.drop > 0));
      errors.push(...logger.lines.map(({ fields }) => fields.error));
      expect(await db.rows(LeaseJobs)).toEqual([]);
    });
  });

  forEachTarget({ connections: "one" }, (target, open) => {
    test("22: a missing table, and a missing column, stop the start with their names", async () => {
      const db = await openTables(open, []);
      const { broker } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      await expect(broker.start()).rejects.toThrow(SchemaError);
      await expect(broker.start()).rejects.toThrow("the database has no table lease_jobs");
      await db.create(LeaseJobs);
      // An index keeps SQLite from dropping its columns.
      if (target.dialect.name === "sqlite") await db.query("DROP INDEX lease_jobs_claim_idx");
      for (const column of ["note", "lane"]) {
        await db.query(`ALTER TABLE lease_jobs DROP COLUMN ${column}`);
      }
      await expect(broker.run()).rejects.toThrow("the table lease_jobs has no columns lane, note");
    });
  });
});
