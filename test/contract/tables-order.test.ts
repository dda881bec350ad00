import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { retry, retryAfter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { fitting, openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const common = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  prio: c.integer().priority().nullable(),
  payload: c.json().payload(),
};
const fifo = { ...common, grp: c.text().group({ fifo: true }) };
const strict = { ...common, grp: c.text().group({ fifo: "strict" }) };
const leased = { lease: c.timestamp().lockedUntil().nullable() };

const FIFO = [
  { form: "row lock", Jobs: inboxTable("jobs", { columns: fifo }) },
  { form: "lease", Jobs: inboxTable("jobs", { columns: { ...fifo, ...leased } }) },
] as const;
const STRICT = [
  { form: "row lock", Jobs: inboxTable("jobs", { columns: strict }) },
  { form: "lease", Jobs: inboxTable("jobs", { columns: { ...strict, ...leased } }) },
] as const;

describe("fifo groups of a broker", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of fitting(target, FIFO)) {
      test(`45, ${form}: retry keeps the head, retry after moves it behind rows due earlier`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const seen: string[] = [];
        broker.subscribe(queue, { workers: 3 }, (message, { attempt }) => {
          seen.push(`${message} ${attempt}`);
          if (attempt === 1 && message === "again") return retry();
          if (attempt === 1 && message === "later") return retryAfter(1);
          return undefined;
        });
        for (const message of ["again", "later", "last"]) await queue.insert(db.source, message);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        expect(seen).toEqual(["again 1", "again 2", "later 1", "last 1", "later 2"]);
      });

      test(`51, ${form}: a throw keeps the row's place in its group`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const seen: string[] = [];
        broker.subscribe(
          queue,
          { workers: 3, retry: { baseDelayMs: 30, jitter: 0 } },
          (message, { attempt }) => {
            seen.push(`${message} ${attempt}`);
            if (message === "first" && Number(attempt) < 3) throw new Error("no stock");
          },
        );
        for (const message of ["first", "second"]) await queue.insert(db.source, message);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 2);
        expect(seen).toEqual(["first 1", "first 2", "first 3", "second 1"]);
      });
    }

    for (const { form, Jobs } of fitting(target, STRICT)) {
      test(`46, ${form}: a head that is due later holds all behind it, whatever asked for it`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const seen: string[] = [];
        broker.subscribe(
          queue,
          { workers: 3, retry: { baseDelayMs: 30, jitter: 0 } },
          (message, { attempt }) => {
            seen.push(`${message} ${attempt}`);
            if (message === "throws" && attempt === 1) throw new Error("no stock");
            return message === "later" && attempt === 1 ? retryAfter(30) : undefined;
          },
        );
        await queue.insert(db.source, "last");
        await queue.insert(db.source, "throws", { priority: 1 });
        await queue.insert(db.source, "later", { priority: 0 });
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        expect(seen).toEqual(["later 1", "later 2", "throws 1", "throws 2", "last 1"]);
      });
    }
  });

  forEachTarget({ connections: "one writer" }, (target, open) => {
    for (const { form, Jobs } of fitting(target, FIFO)) {
      test(`47, 45, ${form}: two brokers on every group: as many side by side as there are slots, each in order`, async () => {
        const db = await openTables(open, [Jobs], { max: 5 });
        const groups = ["a", "b", "c", "d"];
        const rows = Array.from({ length: 8 }, (_, n) =>
          groups.map((grp) => ({ grp, payload: n })),
        ).flat();
        // One after the other, so that ids follow the order.
        await Jobs.insert(db.source, rows, { database: db.dialect });
        const seen = new Map<string, number[]>();
        const busy = new Set<string>();
        const overlaps: string[] = [];
        const gate = new Gate();
        const brokers = [db.source, db.another({ max: 5 })].map((source) => {
          if (source.database === undefined) Object.assign(source, { database: db.dialect });
          const { broker } = testBroker(source);
          broker.subscribe(
            Jobs.everyGroup(),
            { workers: 2 },
            async (n, { attempt, group, key }) => {
              const of = String(group);
              if (busy.has(of) || key !== of) overlaps.push(of);
              busy.add(of);
              if (busy.size === 4) gate.open();
              await gate.opened;
              await db.query("SELECT 1");
              busy.delete(of);
              // A row that is asked for again keeps its place.
              if (Number(n) === 3 && attempt === 1) return retry();
              seen.set(of, [...(seen.get(of) ?? []), Number(n)]);
              return undefined;
            },
          );
          return broker;
        });
        for (const broker of brokers) await broker.start();
        await until(async () => (await db.query("SELECT 1 FROM jobs")).rows.length === 0, {
          deadline: 30_000,
        });
        for (const broker of brokers) await broker.stop();
        expect(overlaps).toEqual([]);
        for (const group of groups) expect(seen.get(group)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      });
    }
  });
});
