import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  payload: c.json().payload(),
};

describe("27: transactions that conflict", () => {
  forEachTarget({ connections: "many", form: "rowLock" }, ({ dialect }, open) => {
    const { isolations, rowLockIsolations = isolations } = dialect.features;
    const refusesCommits = dialect.name === "postgres";

    test.runIf(rowLockIsolations.includes("serializable"))(
      "a serialization failure, of the acknowledgement where it is that, is a redelivery, and no failed attempt",
      async () => {
        const Jobs = inboxTable("jobs", { columns, isolation: "serializable" });
        const db = await openTables(open, [Jobs]);
        const { broker, logger } = testBroker(db.source);
        const attempts: unknown[] = [];
        const [read, written] = [new Gate(), new Gate()];
        let calls = 0;
        let writes = 0;
        broker.subscribe(
          Jobs.queue(),
          { workers: 2, transactional: true },
          async (_, { attempt, tx }) => {
            calls += 1;
            attempts.push(attempt);
            // Each reads what the other writes: no order of the two explains both.
            const { rows } = await tx.query("SELECT count(*) AS n FROM effects");
            if (calls === 2) read.open();
            await read.opened;
            await tx.query(db.effect, [`saw ${String(rows[0]?.["n"])}`]);
            // Where a write waits for whoever has read, one of the two is refused here, and not by its COMMIT.
            if (!refusesCommits) return;
            writes += 1;
            if (writes === 2) written.open();
            await written.opened;
          },
        );
        await Jobs.queue().insert(db.source, [1, 2]);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 2);
        expect(await db.effects()).toEqual(["saw 0", "saw 1"]);
        expect(calls).toBeGreaterThan(2);
        expect(new Set(attempts)).toEqual(new Set([1]));
        expect(logger.of("redelivered").length).toBeGreaterThan(0);
        expect(logger.of("retried")).toEqual([]);
        expect(logger.of("settlement_failed")).toEqual([]);
      },
    );

    test("a deadlock that the acknowledgement's triggers run into is a redelivery of one of the two", async () => {
      const Jobs = inboxTable("jobs", { columns });
      const db = await openTables(open, [Jobs]);
      // The settlement of row n takes what the handler of the other row has.
      await db.query("CREATE TABLE totals (n int PRIMARY KEY, seen int NOT NULL)");
      await db.query("INSERT INTO totals VALUES (1, 0), (2, 0)");
      await db.query(wordsOf(db.dialect).other ?? "");
      const { broker, logger } = testBroker(db.source);
      const attempts: unknown[] = [];
      const both = new Gate();
      let calls = 0;
      broker.subscribe(
        Jobs.queue(),
        { workers: 2, transactional: true },
        async (n, { attempt, tx }) => {
          calls += 1;
          attempts.push(attempt);
          await tx.query(`UPDATE totals SET seen = seen + 1 WHERE n = ${Number(n)}`);
          if (calls === 2) both.open();
          await both.opened;
        },
      );
      await Jobs.queue().insert(db.source, [1, 2]);
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 2);
      expect((await db.query("SELECT n, seen FROM totals ORDER BY n")).rows).toEqual([
        { n: 1, seen: 2 },
        { n: 2, seen: 2 },
      ]);
      expect(attempts).toEqual([1, 1, 1]);
      expect(logger.of("redelivered")).toHaveLength(1);
      expect(logger.of("retried")).toEqual([]);
    });

    const levels = (["repeatableRead", "serializable"] as const).filter((level) =>
      rowLockIsolations.includes(level),
    );
    for (const isolation of levels) {
      test(`18, 23: row locks at ${isolation}: two brokers deliver each row once, though claims fail`, async () => {
        const Jobs = inboxTable("jobs", { columns, isolation });
        const db = await openTables(open, [Jobs], { max: 5 });
        const all = Array.from({ length: 60 }, (_, n) => n);
        await Jobs.queue().insert(db.source, all);
        const seen: number[] = [];
        const brokers = [db.source, db.another({ max: 5 })].map((source) => {
          if (source.database === undefined) Object.assign(source, { database: db.dialect });
          const { broker } = testBroker(source);
          broker.subscribe(
            Jobs.queue(),
            { workers: 3, transactional: true },
            async (n, { attempt, tx }) => {
              expect(attempt).toBe(1);
              await tx.query(db.effect, [String(n)]);
              seen.push(Number(n));
            },
          );
          return broker;
        });
        for (const broker of brokers) await broker.start();
        await until(async () => (await db.query("SELECT 1 FROM jobs")).rows.length === 0, {
          deadline: 40_000,
        });
        for (const broker of brokers) await broker.stop();
        // A settlement may be asked to try again, and its handler with it: its writes are there once.
        expect((await db.effects()).map(Number).sort((a, b) => a - b)).toEqual(all);
        expect(new Set(seen).size).toBe(60);
      });
    }
  });
});
