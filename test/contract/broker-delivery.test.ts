import { describe, expect, test } from "vitest";
import { deadLetter, drop, retry, retryAfter } from "../../src/outcome.ts";
import { formsOf, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("50: a subscription", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`${form}: a handler that returns nothing acknowledges, and gets its context`, async () => {
        const db = await openTables(open, [Jobs]);
        const mails = Jobs.queue("mails");
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        broker.subscribe(mails, (message, context) => {
          const { attempt, group, headers, id, key, queue, signal } = context;
          seen.push({ message, attempt, group, headers, id, key, queue });
          expect(signal.aborted).toBe(false);
          expect("tx" in context).toBe(false);
        });
        const ids = await mails.insert(db.source, [{ to: "ada" }, "bob", [3], null], {
          headers: { trace: "t-1" },
        });
        await broker.start();
        await until(() => seen.length === 4);
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(seen).toEqual(
          [{ to: "ada" }, "bob", [3], null].map((message, index) => ({
            message,
            attempt: 1,
            group: "mails",
            headers: { trace: "t-1" },
            id: ids[index],
            key: form === "advisory lock" ? `job-${ids[index]}` : undefined,
            queue: "mails",
          })),
        );
        expect(broker.stats()).toMatchObject([
          { name: "mails", claimed: 4, settled: { ack: 4 }, lastError: undefined },
        ]);
      });

      test(`${form}: each outcome becomes true`, async () => {
        const db = await openTables(open, [Jobs]);
        const mails = Jobs.queue("mails");
        const { broker } = testBroker(db.source);
        const attempts: Record<string, unknown[]> = {};
        broker.subscribe(
          mails,
          { workers: 3, deadLetter: Jobs.queue("failed") },
          (message, { attempt }) => {
            const what = String(message);
            const before = attempts[what] ?? [];
            attempts[what] = [...before, attempt];
            if (before.length > 0) return undefined;
            if (what === "retry") return retry();
            if (what === "later") return retryAfter("1h");
            if (what === "drop") return drop();
            if (what === "dead") return deadLetter("no use");
            throw new Error("no such thing");
          },
        );
        await mails.insert(db.source, ["retry", "later", "drop", "dead"]);
        await broker.start();
        await until(() => attempts.retry?.length === 2);
        await until(() => broker.stats()[0]?.settled.deadLetter === 1);
        await until(async () => (await db.rows(Jobs)).length === 2);
        await broker.stop();
        expect(attempts).toEqual({ retry: [1, 2], later: [1], drop: [1], dead: [1] });
        expect(await db.rows(Jobs)).toMatchObject([
          { grp: "mails", payload: '"later"', later: true, attempt: 2 },
          { grp: "failed", payload: '"dead"', reason: "no use", attempt: 1 },
        ]);
      });
    }
  });
});
