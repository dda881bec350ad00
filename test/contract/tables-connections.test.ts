import { describe, expect, onTestFinished, test } from "vitest";
import { AdvisoryJobs, formsOf, openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { keyLocksOf } from "../support/key-locks.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

describe("28: few connections", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    test("28: a pool of one serves subscriptions of every form, one delivery at a time", async () => {
      const forms = formsOf(target);
      const tables = forms.map(({ Jobs }) => Jobs);
      const db = await openTables(open, tables, { max: 1 });
      const { broker } = testBroker(db.source);
      let running = 0;
      let most = 0;
      for (const { Jobs } of forms) {
        broker.subscribe(
          Jobs.queue("a"),
          { name: Jobs.description.name, workers: 3, batch: 2, transactional: true },
          async (messages, { tx }) => {
            running += 1;
            most = Math.max(most, running);
            for (const message of messages) await tx.query(db.effect, [message]);
            running -= 1;
          },
        );
        await Jobs.queue("a").insert(db.source, [1, 2, 3, 4, 5]);
      }
      await broker.start();
      await until(() => broker.stats().every(({ settled }) => settled.ack === 5));
      await broker.stop();
      expect(most).toBe(1);
      expect(await db.effects()).toHaveLength(5 * forms.length);
    });
  });

  forEachTarget({ connections: "one writer" }, (target, open) => {
    // A handler's transaction on a lease holds its row first, and with it a file.
    const isFile = target.name === "sqlite file";
    const forms = formsOf(target).filter(({ form }) => form !== "lease" || !isFile);
    for (const { form, Jobs } of forms) {
      test(`28, ${form}: with a pool of two a row is published while one is in work`, async () => {
        const db = await openTables(open, [Jobs], { max: 2 });
        const queue = Jobs.queue("a");
        const { broker } = testBroker(db.source);
        const gate = new Gate();
        broker.subscribe(queue, { workers: 4, transactional: true }, async (message, { tx }) => {
          await tx.query("SELECT 1");
          if (message === "first") {
            // Within the handler, past its transaction, which has written nothing yet: there is a connection left.
            await broker.publish(queue, "published");
            await gate.opened;
          }
          await tx.query(db.effect, [message]);
        });
        await queue.insert(db.source, "first");
        await broker.start();
        await until(async () => (await db.rows(Jobs)).length === 2);
        expect(broker.stats()[0]?.inWork).toBe(1);
        gate.open();
        await until(() => broker.stats()[0]?.settled.ack === 2);
        expect(await db.effects()).toEqual(["first", "published"]);
      });
    }
  });
});

/** What releases every lock of the session, in which the row with the id 2 has its own. */
const UNLOCK_ALL: Readonly<Record<string, string>> = {
  postgres: "SELECT pg_advisory_unlock_all()",
  mysql: "SELECT RELEASE_ALL_LOCKS()",
  sqlserver: "EXEC sp_releaseapplock @Resource = N'job-2', @LockOwner = N'Session'",
};

const KEYS = { table: "advisory_jobs", keyOf: (id: string) => `job-${id}` };

describe("44: a stop under advisory locks", () => {
  forEachTarget({ connections: "one writer", form: "advisoryLock" }, (_target, open) => {
    test("44: waits for the settlement in flight, and leaves no lock", async () => {
      const db = await openTables(open, [AdvisoryJobs]);
      const queue = AdvisoryJobs.queue("a");
      const source = new WatchedSource(db.source);
      Object.assign(source, { database: db.dialect });
      const { broker } = testBroker(source);
      const gate = new Gate();
      broker.subscribe(queue, () => gate.opened);
      const id = String(await queue.insert(db.source, "x"));
      const locks = await keyLocksOf(db, KEYS);
      const looker = await db.another().connect();
      onTestFinished(() => looker.release());
      await broker.start();
      await until(() => broker.stats()[0]?.inWork === 1);
      // The settlement waits for a row that somebody else has.
      const blocker = await db.another().connect();
      await blocker.begin();
      await blocker.query("UPDATE advisory_jobs SET note = 'held'");
      gate.open();
      let isStopped = false;
      const stopped = broker.stop({ graceMs: 5000 }).then(() => {
        isStopped = true;
      });
      for (let look = 0; look < 5; look += 1) await looker.query("SELECT 1");
      expect(isStopped).toBe(false);
      expect(await locks.take(looker, id)).toBe(false);
      await blocker.rollback();
      await blocker.release();
      await stopped;
      expect(broker.stats()[0]?.settled.ack).toBe(1);
      expect(await db.rows(AdvisoryJobs)).toEqual([]);
      expect(await locks.take(looker, id)).toBe(true);
      await locks.give(looker, id);
      expect(source.inUse).toBe(0);
    });
  });

  // SQLite's locks are the connection's, and no statement knows them.
  forEachTarget({ connections: "many", form: "advisoryLock" }, ({ dialect }, open) => {
    test("44: says how many locks it released, and how many connections it closed for want of an answer", async () => {
      const db = await openTables(open, [AdvisoryJobs]);
      const queue = AdvisoryJobs.queue("a");
      const { broker, logger } = testBroker(db.source);
      let inWork = 0;
      broker.subscribe(
        queue,
        { workers: 2, transactional: true },
        async (message, { signal, tx }) => {
          // Whose lock is gone already cannot be released: the session is in doubt.
          const unlock = UNLOCK_ALL[dialect.name] ?? "no such database";
          await tx.query(message === "unlocks" ? unlock : "SELECT 1");
          inWork += 1;
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        },
      );
      await queue.insert(db.source, "holds");
      await broker.start();
      await until(() => inWork === 1);
      // Last, so that no worker is free to take its row, whose key is free, again.
      await queue.insert(db.source, "unlocks");
      await until(() => inWork === 2);
      await broker.stop({ graceMs: 1 });
      const [line] = logger.of("locks_released");
      expect(line?.fields).toMatchObject({ released: 1, closed: 1 });
      const locks = await keyLocksOf(db, KEYS);
      const looker = await db.another().connect();
      for (const id of ["1", "2"]) {
        // The server may take a moment to end what was closed.
        await until(() => locks.take(looker, id));
        await locks.give(looker, id);
      }
      await looker.release();
      expect(await db.rows(AdvisoryJobs)).toMatchObject([{ attempt: 1 }, { attempt: 1 }]);
    });
  });
});
