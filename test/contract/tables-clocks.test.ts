import { afterEach, describe, expect, test, vi } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { retryAfter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { FORMS, openTables, testBroker } from "../support/broker-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

describe("37: whose clock it is", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    for (const { form, Jobs } of FORMS) {
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
              const { rows } = await tx.query(
                "SELECT lease - clock_timestamp() BETWEEN interval '20 s' AND interval '31 s' AS fits FROM lease_jobs WHERE payload = to_jsonb($1::text)",
                [message],
              );
              expect(rows).toEqual([{ fits: true }]);
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
            `SELECT due - clock_timestamp() BETWEEN interval '25 min' AND interval '31 min' AS fits FROM ${Jobs.description.name}`,
          );
          expect(rows).toEqual([{ fits: true }, { fits: true }]);
        });
      }
    }

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
