import { describe, expect, onTestFinished, test } from "vitest";
import { FORMS, openTables, testBroker } from "../support/broker-table.ts";
import { FaultyNetwork } from "../support/proxy.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

/**
 * From one handler call to the next, one worker: the settlement and the next claim. pg sends each of them in
 * one flush, whatever statements it takes. The others send statements one by one; nobody waits for the trip by which
 * postgres.js gives a connection back, which may share another's: 5 or 6 a message, and the
 * bound is that none is doubled.
 */
const TRIPS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  pg: { lease: 2, "row lock": 2, "advisory lock": 2 },
  postgres: { lease: 8, "row lock": 8, "advisory lock": 10 },
  handmade: { lease: 5, "row lock": 6, "advisory lock": 9 },
  "mysql2 on MySQL": { lease: 6, "row lock": 5, "advisory lock": 12 },
  "mariadb on MySQL": { lease: 6, "row lock": 5, "advisory lock": 12 },
  mysql2: { lease: 6, "row lock": 5, "advisory lock": 12 },
  mariadb: { lease: 6, "row lock": 5, "advisory lock": 12 },
  mssql: { lease: 4, "row lock": 4, "advisory lock": 7 },
};

const MESSAGES = 24;
const FIRST = 8;

describe("29: round trips", () => {
  forEachTarget({ connections: "many" }, ({ dialect, name }, open) => {
    for (const { form, Jobs } of FORMS) {
      const trips = TRIPS[name]?.[form] ?? Number.NaN;
      test(`29, ${form}: a claim and its settlement take ${trips} at most`, async () => {
        const db = await openTables(open, [Jobs]);
        const { url } = db;
        if (url === undefined) throw new Error("no network reaches this one");
        const proxy = await FaultyNetwork.before(url);
        onTestFinished(() => proxy.close());
        const source = db.another({ max: 3, url: proxy.urlOf(url) });
        if (source.database === undefined) Object.assign(source, { database: dialect.name });
        const queue = Jobs.queue("a");
        await queue.insert(
          db.source,
          Array.from({ length: MESSAGES }, (_, n) => n),
        );
        const { broker } = testBroker(source, { pollIntervalMs: 3_600_000 });
        /** At each start of the handler. */
        const counts: number[] = [];
        broker.subscribe(queue, () => void counts.push(proxy.roundTrips));
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === MESSAGES);
        await broker.stop();
        // The first ones prepare their statements.
        const [first = 0, last = 0] = [counts[FIRST], counts[MESSAGES - 1]];
        const taken = (last - first) / (MESSAGES - 1 - FIRST);
        if (name === "pg") expect(taken).toBe(trips);
        expect(taken).toBeGreaterThanOrEqual(2);
        expect(taken).toBeLessThanOrEqual(trips);
      });
    }
  });
});
