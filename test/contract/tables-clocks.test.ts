import { afterEach, describe, expect, test, vi } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { retryAfter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { formsOf, openTables, testBroker } from "../support/broker-table.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const HOUR_MS = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

describe("37: whose clock it is", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    const { later, now, text } = wordsOf(target.dialect.name);
    /** Truth as a number, which every database has. */
    const fits = (column: string, from: number, to: number) =>
      `CASE WHEN ${column} BETWEEN ${later(now, from)} AND ${later(now, to)} THEN 1 ELSE 0 END AS fits`;
    const isPayload = `${text("payload")} = ${target.dialect.placeholder(1)}`;

    for (const { form, Jobs } of formsOf(target)) {
      for (const offMs of [HOUR_MS, -HOUR_MS]) {
        const off = offMs > 0 ? "an hour ahead" : "an hour behind";
        test(`${form}: of a host whose clock is ${off}, nothing changes with the database's`, async () => {
          const db = await openTables(open, [Jobs]);
          const queue = Jobs.queue("a");
          vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + offMs });
          const { broker } = testBroker(db.source);
          const seen: string[] = [];
          broker.subscribe(queue, { transactional: true }, async (message, { attempt, tx }) => {
            seen.push(`${message} ${attempt}`);
            if (form === "lease") {
              const { rows } = await tx.query<{ fits: unknown }>(
                `SELECT ${fits("lease", 20_000, 31_000)} FROM lease_jobs WHERE ${isPayload}`,
                [JSON.stringify(message)],
              );
              // A BIGINT on MySQL, which the driver mariadb makes a bigint.
              expect(rows.map((row) => Number(row.fits))).toEqual([1]);
            }
            return message === "delayed" && attempt === 1 ? retryAfter("30m") : undefined;
          });
          await queue.insert(db.source, "in half an hour", { delay: "30m" });
          await queue.insert(db.source, "delayed");
          await queue.insert(db.source, "now");
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 1);
          await until(() => broker.stats()[0]?.state === "resting");
          await broker.stop();
          expect(seen).toEqual(["delayed 1", "now 1"]);
          const { rows } = await db.query(
            `SELECT ${fits("due", 25 * 60_000, 31 * 60_000)} FROM ${Jobs.description.name}`,
          );
          expect(rows).toEqual([{ fits: 1 }, { fits: 1 }]);
        });
      }
    }
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("a clock of the service's own is read once a claim, and decides what is due and held", async () => {
      let reads = 0;
      let now = new Date("2031-05-05T05:05:05.000Z");
      const Jobs = inboxTable("jobs", {
        columns: {
          id: c.bigint().id().generated(),
          attempt: c.integer().attempt().generated(),
          due: c.timestamp().retryAfter().nullable(),
          lease: c.timestamp().lockedUntil().nullable(),
          payload: c.json().payload(),
        },
        clock: () => {
          reads += 1;
          return now;
        },
      });
      const db = await openTables(open, [Jobs]);
      await db.query(
        "INSERT INTO jobs (payload, due) VALUES ('1', '2031-05-05T05:05:04Z'), ('2', '2031-05-05T05:05:06Z')",
      );
      const { broker } = testBroker(db.source, { pollIntervalMs: HOUR_MS });
      const seen: unknown[] = [];
      const ends: unknown[] = [];
      let readsAtStart = 0;
      const subscription = broker.subscribe(
        Jobs.queue(),
        { transactional: true },
        async (n, { tx }) => {
          readsAtStart = reads;
          seen.push(n);
          const { rows } = await tx.query("SELECT lease FROM jobs WHERE lease IS NOT NULL");
          ends.push(rows[0]?.lease);
        },
      );
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await until(() => broker.stats()[0]?.state === "resting");
      // The claim of the row.
      expect(readsAtStart).toBe(1);
      expect(seen).toEqual([1]);
      now = new Date("2031-05-05T05:05:07.000Z");
      subscription.pause();
      subscription.resume();
      await until(() => broker.stats()[0]?.settled.ack === 2);
      expect(seen).toEqual([1, 2]);
      expect(ends.map((end) => new Date(String(end)).toISOString())).toEqual([
        "2031-05-05T05:05:35.000Z",
        "2031-05-05T05:05:37.000Z",
      ]);
    });
  });
});
