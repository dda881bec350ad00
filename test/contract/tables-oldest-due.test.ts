import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { formsOf, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const Undue = inboxTable("undue_jobs", {
  columns: {
    id: c.bigint().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});
const Ordered = inboxTable("ordered_jobs", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group({ fifo: true }),
    due: c.timestamp().retryAfter().nullable(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe("77: the age of the oldest row that is due", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`${form}: on request, of each subscription`, async () => {
        const db = await openTables(open, [Jobs, Undue]);
        const { broker } = testBroker(db.source);
        broker.subscribe(Jobs.queue("a"), () => undefined);
        broker.subscribe(Jobs.queue("b"), () => undefined);
        broker.subscribe(Undue.queue(), () => undefined);
        await Jobs.insert(db.source, [
          { grp: "a", payload: 1, due: ago(5) },
          { grp: "a", payload: 2, due: ago(7) },
          { grp: "a", payload: 3 },
          { grp: "b", payload: 4, due: ago(-5) },
          { grp: "c", payload: 5, due: ago(60) },
        ]);
        await Undue.insert(db.source, { payload: 6 });
        const [a, b, undue] = await broker.stats({ oldestDue: true });
        expect(a).toMatchObject({ name: "a", state: "idle", claimed: 0 });
        expect((a?.oldestDueMs ?? 0) / 60_000).toBeCloseTo(7, 0);
        expect([b?.oldestDueMs, undue?.oldestDueMs]).toEqual([null, null]);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        const later = await broker.stats({ oldestDue: true });
        expect(later[0]).toMatchObject({ oldestDueMs: null, claimed: 3 });
        // Without the option nobody asks the database.
        expect(broker.stats()[0]).not.toHaveProperty("oldestDueMs");
      });
    }

    test("of all groups at once the oldest of any", async () => {
      const db = await openTables(open, [Ordered]);
      const { broker } = testBroker(db.source);
      broker.subscribe(Ordered.everyGroup(), () => undefined);
      await Ordered.insert(db.source, [
        { grp: "a", payload: 1, due: ago(5) },
        { grp: "b", payload: 2, due: ago(9) },
      ]);
      const [all] = await broker.stats({ oldestDue: true });
      expect((all?.oldestDueMs ?? 0) / 60_000).toBeCloseTo(9, 0);
    });

    test("another option is refused by name", async () => {
      const db = await openTables(open, []);
      const { broker } = testBroker(db.source);
      expect(() => broker.stats({ oldest: true } as never)).toThrow('has no option "oldest"');
      expect(() => broker.stats({ oldestDue: 1 } as never)).toThrow("oldestDue takes true, not 1");
    });
  });
});
