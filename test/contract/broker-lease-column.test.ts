import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import {
  EFFECT,
  LeaseJobs,
  LockJobs,
  openTables,
  rejection,
  testBroker,
} from "../support/broker-table.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { timePasses } from "../support/time-passes.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const LEASE_MS = 30_000;
/** A whole second would round it down. */
const CLAIMED_AT = new Date("2030-01-01T00:00:00.300Z");

const columns = {
  id: c.bigint().id().generated(),
  lease: c.timestamp().lockedUntil().nullable(),
  payload: c.json().payload(),
};

describe("what a start learns of the database", () => {
  // SQLite holds a time as text, of which no column is too coarse.
  forEachTarget({ connections: "one", form: "rowLock" }, (_target, open) => {
    test("31: a lease in a column of whole seconds is rounded up, never down", async () => {
      const Jobs = inboxTable("jobs", {
        columns: { ...columns, attempt: c.integer().attempt().generated() },
        clock: () => CLAIMED_AT,
      });
      const db = await openTables(open, [Jobs]);
      const { coarsen, utc } = wordsOf(db.dialect);
      await db.query(coarsen?.("jobs", "lease", 0) ?? "");
      const { broker } = testBroker(db.source);
      const ends: unknown[] = [];
      const options = { leaseMs: LEASE_MS, transactional: true } as const;
      broker.subscribe(Jobs.queue(), options, async (_, { tx }) => {
        const { rows } = await tx.query(`SELECT ${utc("lease")} AS ends FROM jobs`);
        ends.push(...rows.map((row) => new Date(`${row["ends"]}Z`).getTime()));
      });
      await Jobs.queue().insert(db.source, "a");
      await broker.start();
      await until(() => ends.length > 0);
      await broker.stop();
      expect(ends).toEqual([1000 * Math.ceil((CLAIMED_AT.getTime() + LEASE_MS) / 1000)]);
    });

    test("32: a lease that tells two claims apart alone is refused in a column too coarse for it", async () => {
      const Jobs = inboxTable("jobs", { columns });
      const db = await openTables(open, [Jobs]);
      const { coarsen, finest } = wordsOf(db.dialect);
      await db.query(coarsen?.("jobs", "lease", 3) ?? "");
      const { broker } = testBroker(db.source);
      broker.subscribe(Jobs.queue(), () => {});
      const error = await rejection(broker.start());
      expect(error).toMatchObject({ code: "SCHEMA" });
      expect(String(error)).toMatch(
        new RegExp(`table jobs.*column lease holds 3 digits.*${finest}.*attempt column`),
      );
    });
  });

  forEachSource({ connections: "one" }, (name, open) => {
    test("23: row locks are warned of where sessions default to a level at which claims fail", async () => {
      const db = await openTables(open, [LockJobs]);
      await defaultTo(db, name, "repeatable read");
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(LockJobs.queue("a"), () => {});
      await broker.start();
      await broker.stop();
      expect(logger.of("isolation_advice")).toMatchObject([
        { fields: { level: "repeatableRead" } },
      ]);
    });
  });

  forEachSource({ connections: "many" }, (name, open) => {
    test.each(["repeatable read", "serializable"] as const)(
      "62: a handler of several leases commits where sessions default to %s",
      async (level) => {
        const db = await openTables(open, [LeaseJobs]);
        await defaultTo(db, name, level);
        const queue = LeaseJobs.queue("a");
        const leaseMs = 400;
        const levels = new Set<unknown>();
        let deliveries = 0;
        const { broker, logger } = testBroker(db.source);
        const options = { leaseMs, transactional: true } as const;
        broker.subscribe(queue, options, async (_, { tx }) => {
          deliveries += 1;
          await tx.query(EFFECT, ["a"]);
          const { rows } = await tx.query("SHOW transaction_isolation");
          levels.add(rows[0]?.transaction_isolation);
          await timePasses(db, 2.5 * leaseMs);
        });
        await queue.insert(db.source, "x");
        await broker.start();
        await until(async () => (await db.rows(LeaseJobs)).length === 0);
        await broker.stop();
        expect(await db.effects()).toEqual(["a"]);
        expect(deliveries).toBe(1);
        expect([...levels]).toEqual([level]);
        expect(logger.of("lease_lost")).toEqual([]);
      },
    );
  });
});

/** Of sessions that are opened from now on. */
async function defaultTo(
  db: { query(text: string): Promise<unknown> },
  source: string,
  level: string,
): Promise<void> {
  if (source === "pglite") await db.query(`SET default_transaction_isolation = '${level}'`);
  else {
    await db.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '${level}'); END $$`,
    );
  }
}
