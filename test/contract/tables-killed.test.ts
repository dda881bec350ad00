import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { testBroker } from "../support/broker-table.ts";
import { forEachTarget, type Open, type TargetName } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";
import { holderTables } from "./processes/holder-tables.ts";
import { endAll, HolderProcess } from "./processes/programs.ts";
import { isReached } from "./processes/protocol.ts";

afterEach(endAll);

type Table = keyof typeof holderTables;

async function openHolders(name: TargetName, open: Open, table: Table, leaseMs: number) {
  const db = await open();
  const { dialect, url } = db;
  if (url === undefined || !isReached(name)) throw new Error("no other process reaches it");
  const Jobs = holderTables[table];
  for (const statement of Jobs.ddl(dialect)) await db.query(statement);
  if (db.source.database === undefined) Object.assign(db.source, { database: dialect });
  const { now, text } = wordsOf(dialect);
  return {
    ...db,
    Jobs,
    insert: (...payloads: string[]) => Jobs.queue("a").insert(db.source, payloads),
    hold: async () => {
      const holder = await HolderProcess.start({ url, kind: name, connections: 5, table, leaseMs });
      onTestFinished(() => holder.kill());
      return holder;
    },
    /** A broker of this process; answers what it was given, and by the database's clock when. */
    work() {
      const seen: string[] = [];
      const at: string[] = [];
      const { broker } = testBroker(db.source, { leaseMs });
      broker.subscribe(Jobs.queue("a"), async (message, { attempt }) => {
        const { rows } = await db.query<{ now: string }>(`SELECT ${text(now)} AS now`);
        at.push(...rows.map(({ now }) => now));
        seen.push(`${message} ${attempt}`);
      });
      return { at, broker, seen };
    },
  };
}

/** The keys that sessions hold; a file's are held by locks of the system, which end with their process. */
const LOCKS: Readonly<Record<string, string>> = {
  mysql: `SELECT 1 FROM (SELECT '"a"' AS name UNION SELECT '"b"' UNION SELECT '"c"') AS names
    WHERE IS_FREE_LOCK(CONCAT(DATABASE(), '.', name)) = 0`,
};

describe("a process that is killed", () => {
  forEachTarget({ connections: "one writer" }, ({ dialect, name }, open) => {
    const locksRows = dialect.features.forms.includes("rowLock");

    test.runIf(locksRows)(
      "25: row locks: its rows are back at once, and no attempt is spent",
      async () => {
        const jobs = await openHolders(name, open, "rowLock", 30_000);
        await jobs.insert("a", "b", "c");
        const holder = await jobs.hold();
        await until(() => holder.holds.length === 2);
        const { broker, seen } = jobs.work();
        await broker.start();
        await until(() => seen.length === 1);
        expect(seen).toEqual(["c 1"]);
        await holder.kill();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        expect(seen.toSorted()).toEqual(["a 1", "b 1", "c 1"]);
      },
    );

    test("41: advisory locks: it leaves no lock, and its rows are back at once", async () => {
      const jobs = await openHolders(name, open, "advisoryLock", 30_000);
      await jobs.insert("a", "a", "b", "c");
      const holder = await jobs.hold();
      await until(() => holder.holds.length === 2);
      const { broker, seen } = jobs.work();
      await broker.start();
      await until(() => seen.length === 1);
      // The second row of the key waits with the first.
      expect(seen).toEqual(["c 1"]);
      const locks = wordsOf(dialect.name).locks ?? LOCKS[dialect.name];
      if (locks !== undefined) {
        await until(async () => (await jobs.query(locks)).rows.length === 2);
      }
      await holder.kill();
      await until(() => broker.stats()[0]?.settled.ack === 4);
      await broker.stop();
      expect(seen.toSorted()).toEqual(["a 1", "a 2", "b 2", "c 1"]);
      if (locks === undefined) return;
      await until(async () => (await jobs.query(locks)).rows.length === 0);
    });

    test("49: leases: its fifo group is held until the lease ends, and others are not", async () => {
      const jobs = await openHolders(name, open, "leaseFifo", 3000);
      await jobs.insert("head", "next");
      const holder = await jobs.hold();
      await until(() => holder.holds.length === 1);
      await holder.kill();
      const { now, text } = wordsOf(dialect.name);
      const { rows } = await jobs.query<{ lease: string }>(
        `SELECT ${text("lease")} AS lease FROM jobs WHERE lease > ${now}`,
      );
      expect(rows).toHaveLength(1);
      const { at, broker, seen } = jobs.work();
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 2);
      expect(seen).toEqual(["head 2", "next 1"]);
      expect([rows[0]?.lease, at[0]].toSorted()).toEqual([rows[0]?.lease, at[0]]);
    });

    test.runIf(locksRows)(
      "49: row locks: its fifo group is free at once, and its head comes first",
      async () => {
        const jobs = await openHolders(name, open, "rowLockFifo", 30_000);
        await jobs.insert("head", "next");
        const holder = await jobs.hold();
        await until(() => holder.holds.length === 1);
        const { broker, seen } = jobs.work();
        await broker.start();
        await until(() => broker.stats()[0]?.state === "resting");
        expect(seen).toEqual([]);
        await holder.kill();
        await until(() => broker.stats()[0]?.settled.ack === 2);
        expect(seen).toEqual(["head 1", "next 1"]);
      },
    );

    for (const table of ["lease", "advisoryLock"] as const) {
      test(`24: ${table}: a row that kills each process goes to the dead letter when its attempts are spent`, async () => {
        const jobs = await openHolders(name, open, table, 500);
        await jobs.insert("kills");
        for (const attempt of [1, 2]) {
          const holder = await jobs.hold();
          await until(() => !holder.isRunning);
          expect(holder.child.signalCode).toBe("SIGKILL");
          const { rows } = await jobs.query("SELECT grp, attempt FROM jobs");
          expect(rows).toEqual([{ grp: "a", attempt: attempt + 1 }]);
        }
        const last = await jobs.hold();
        const dead = "SELECT reason, attempt FROM jobs WHERE grp = 'dead'";
        await until(async () => (await jobs.query(dead)).rows.length === 1);
        expect(last.isRunning).toBe(true);
        expect((await jobs.query(dead)).rows).toEqual([
          { reason: expect.stringContaining("all 2 attempts"), attempt: 1 },
        ]);
      });
    }
  });
});
