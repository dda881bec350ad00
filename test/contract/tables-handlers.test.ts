import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { HandlerTransaction } from "../../src/index.ts";
import { drop, retry } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { fitting, formsOf, LeaseJobs, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget, type Target } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const forms = {
  "row lock": {},
  lease: { lease: c.timestamp().lockedUntil().nullable() },
  "advisory lock": {},
} as const;

/** A table in each form, with these columns. */
function inEachForm(target: Target, columns: Parameters<typeof inboxTable>[1]["columns"]) {
  const tables = Object.entries(forms).map(([form, more]) => ({
    form,
    // What is known only when the program runs has no types of its own.
    Jobs: inboxTable("jobs", {
      columns: { id: c.bigint().id().generated(), ...columns, ...more },
      ...(form === "advisory lock" && { advisoryLock: "job-{id}" }),
    } as never) as unknown as typeof Plain,
  }));
  return fitting(target, tables);
}

const Plain = inboxTable("jobs", {
  columns: { id: c.bigint().id().generated(), payload: c.bytes().payload() },
});

describe("what a handler gets, and what becomes of what it does", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of inEachForm(target, {
      attempt: c.integer().attempt({ from: 0 }).generated(),
      payload: c.bytes().payload(),
    })) {
      test(`19, ${form}: a column that begins at 0 counts 1 on the first delivery, one more on each later`, async () => {
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const attempts: unknown[] = [];
        broker.subscribe(Jobs.queue(), (_, { attempt }) => {
          attempts.push(attempt);
          return attempts.length < 3 ? retry() : undefined;
        });
        await Jobs.queue().insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(attempts).toEqual([1, 2, 3]);
      });
    }

    for (const { form, Jobs } of inEachForm(target, { payload: c.bytes().payload() })) {
      test(`19, ${form}: without an attempt column there is no attempt`, async () => {
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        const attempts: unknown[] = [];
        broker.subscribe(Jobs.queue(), (_, { attempt }) => {
          attempts.push(attempt);
          return attempts.length < 3 ? retry() : undefined;
        });
        await Jobs.queue().insert(db.source, "x");
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(attempts).toEqual([undefined, undefined, undefined]);
      });

      test(`20, ${form}: bytes arrive as they were written, with the batch too`, async () => {
        const db = await openTables(open, [Jobs]);
        const raw = Jobs.queue({
          payload: { decode: (stored: Uint8Array) => stored, encode: (bytes: Uint8Array) => bytes },
        });
        const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
        const sent = [
          Buffer.from([0xff, 0x00, 0xfe]),
          Buffer.alloc(0),
          Buffer.from("\\x00ff"),
          Buffer.concat(Array.from({ length: 400 }, () => all)),
        ];
        await raw.insert(db.source, sent);
        const { broker } = testBroker(db.source);
        const seen: string[] = [];
        broker.subscribe(raw, { batch: 3 }, (many) => {
          seen.push(...many.map((bytes) => Buffer.from(bytes).toString("hex")));
        });
        await broker.start();
        await until(() => seen.length === sent.length);
        expect(seen).toEqual(sent.map((bytes) => bytes.toString("hex")));
      });
    }

    for (const { form, Jobs } of formsOf(target)) {
      test(`60, ${form}: tx takes placeholders and templates, and what was not awaited is waited for`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const evil = "x'); DROP TABLE effects; --";
        const answers: unknown[] = [];
        broker.subscribe(queue, { transactional: true }, async (_, { tx }) => {
          answers.push(await tx.query(db.effect, ["one"]));
          answers.push(await tx.sql`INSERT INTO effects (what) VALUES (${evil}), (${"three"})`);
          void tx.query(db.effect, ["four"]);
          void tx.sql`INSERT INTO effects (what) VALUES (${"five"})`;
        });
        await queue.insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(answers).toEqual([
          { rows: [], rowCount: 1 },
          { rows: [], rowCount: 2 },
        ]);
        expect(await db.effects()).toEqual(["one", evil, "three", "four", "five"]);
      });

      test(`60, ${form}: a query that fails unawaited fails the row, and ends no process`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker, logger } = testBroker(db.source);
        broker.subscribe(
          queue,
          { transactional: true, onFailure: { throw: drop() } },
          (_, { tx }) => {
            void tx.query(db.effect, ["undone"]);
            void tx.query("SELECT no_such_column");
          },
        );
        await queue.insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.drop === 1);
        expect(await db.effects()).toEqual([]);
        expect(await db.rows(Jobs)).toEqual([]);
        expect(broker.stats()[0]?.lastError).toMatch(/no_such_column/);
        expect(logger.of("settlement_failed")).toEqual([]);
      });

      test(`63, ${form}: a handler that would end its transaction, or uses it after its end, gets an error`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const texts = [
          "COMMIT",
          "/* so */ end",
          "ROLLBACK",
          "BEGIN",
          "PREPARE TRANSACTION 'x'",
          "SELECT 1; COMMIT",
        ];
        const leaked: HandlerTransaction[] = [];
        broker.subscribe(
          queue,
          { transactional: true, onFailure: { throw: retry() }, workers: 3 },
          async (text, { attempt, tx }) => {
            leaked.push(tx);
            await tx.query(db.effect, [`${text} ${attempt}`]);
            if (attempt === 1) await tx.query(String(text));
          },
        );
        await queue.insert(db.source, texts);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === texts.length);
        expect((await db.effects()).sort()).toEqual(texts.map((text) => `${text} 2`).sort());
        expect(broker.stats()[0]?.lastError).toMatch(/is refused here/);
        expect(leaked).toHaveLength(2 * texts.length);
        for (const tx of leaked) {
          await expect(tx.query(db.effect, ["late"])).rejects.toMatchObject({
            code: "TRANSACTION",
            message: expect.stringContaining("the handler has ended"),
          });
          expect(() => tx.client).toThrow(/the handler has ended/);
        }
        expect(await db.effects()).toHaveLength(texts.length);
      });

      const aborts = target.dialect.features.errorsAbortTransactions;
      const swallowing = aborts ? test : test.skip;
      swallowing(
        `64, ${form}: a swallowed SQL error is a failure with a clear message, also in a batch`,
        async () => {
          const db = await openTables(open, [Jobs]);
          const queue = Jobs.queue("a");
          const { broker } = testBroker(db.source);
          let calls = 0;
          broker.subscribe(
            queue,
            { batch: 2, transactional: true, onFailure: { throw: retry() } },
            async (messages, { tx }) => {
              calls += 1;
              await tx.query(db.effect, [messages.join()]);
              if (calls === 1) await tx.query("SELECT no_such_column").catch(() => undefined);
            },
          );
          await queue.insert(db.source, [1, 2]);
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 2);
          expect((await db.effects()).join().split(",").sort()).toEqual(["1", "2"]);
          expect(broker.stats()[0]?.settled.retry).toBe(2);
          expect(broker.stats()[0]?.lastError).toMatch(/aborted the handler's transaction/);
        },
      );

      for (const transactional of [false, true]) {
        const how = transactional ? "as the acknowledgement commits" : "as they are made";
        test(`59, ${form}: replies are written ${how}, in batches too`, async () => {
          const db = await openTables(open, [Jobs]);
          const queue = Jobs.queue("a");
          const { broker } = testBroker(db.source);
          let calls = 0;
          broker.subscribe(
            queue,
            { batch: 3, transactional, reply: Jobs.queue("out"), onFailure: { throw: retry() } },
            async (messages, { reply }) => {
              calls += 1;
              const call = calls;
              for (const message of messages) await reply(`${message} ${call}`);
              if (call === 1) throw new Error("no stock");
            },
          );
          await queue.insert(db.source, [1, 2, 3]);
          if (db.source.max === 1 && form !== "lease" && !transactional) {
            await expect(broker.start()).rejects.toThrow(
              "reply of a takes a connection while its handler holds one, and connections.max is 1: it takes at least 2, or transactional: true",
            );
            return;
          }
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 3);
          const rows = await db.rows(Jobs);
          expect(rows.every(({ grp }) => grp === "out")).toBe(true);
          const replies = rows.map(({ payload }) => JSON.parse(payload)).sort();
          const second = replies.filter((reply) => !String(reply).endsWith(" 1"));
          expect(second.map((reply) => String(reply)[0])).toEqual(["1", "2", "3"]);
          expect(replies.length - second.length).toBe(transactional ? 0 : 3);
        });
      }
    }
  });

  forEachTarget({ connections: "one writer" }, ({ dialect }, open) => {
    const { later, now } = wordsOf(dialect.name);

    test("58: the signal aborts when the lease is lost, with the reason", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source, { leaseMs: 600 });
      const reasons: unknown[] = [];
      broker.subscribe(queue, async (_, { signal }) => {
        if (reasons.length > 0) return;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        reasons.push(signal.reason);
      });
      await queue.insert(db.source, 1);
      await broker.start();
      await until(() => broker.stats()[0]?.inWork === 1);
      await db.query(
        `UPDATE lease_jobs SET lease = ${later(now, -3_600_000)}, attempt = attempt + 1`,
      );
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(reasons).toMatchObject([{ code: "LEASE_LOST" }]);
      expect(broker.stats()[0]?.returned.lost).toBe(1);
    });
  });
});
