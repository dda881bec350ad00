import { describe, expect, test } from "vitest";
import {
  AdvisoryJobs,
  EFFECT,
  FORMS,
  LeaseJobs,
  LockJobs,
  openTables,
  testBroker,
} from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

const LOCKS = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

describe("28: few connections", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    test.skipIf(name === "handmade")(
      "28: a pool of one serves subscriptions of every form, one delivery at a time",
      async () => {
        const db = await openTables(open, [LeaseJobs, LockJobs, AdvisoryJobs], { max: 1 });
        const { broker } = testBroker(db.source);
        let running = 0;
        let most = 0;
        for (const { Jobs } of FORMS) {
          broker.subscribe(
            Jobs.queue("a"),
            { name: Jobs.description.name, workers: 3, batch: 2, transactional: true },
            async (messages, { tx }) => {
              running += 1;
              most = Math.max(most, running);
              for (const message of messages) await tx.query(EFFECT, [message]);
              running -= 1;
            },
          );
          await Jobs.queue("a").insert(db.source, [1, 2, 3, 4, 5]);
        }
        await broker.start();
        await until(() => broker.stats().every(({ settled }) => settled.ack === 5));
        await broker.stop();
        expect(most).toBe(1);
        expect(await db.effects()).toHaveLength(15);
      },
    );

    for (const { form, Jobs } of FORMS) {
      test.skipIf(name === "handmade")(
        `28, ${form}: with a pool of two a row is published while one is in work`,
        async () => {
          const db = await openTables(open, [Jobs], { max: 2 });
          const queue = Jobs.queue("a");
          const { broker } = testBroker(db.source);
          const gate = new Gate();
          broker.subscribe(queue, { workers: 4, transactional: true }, async (message, { tx }) => {
            await tx.query(EFFECT, [message]);
            if (message === "first") {
              // Within the handler, past its transaction: there is a connection left.
              await broker.publish(queue, "published");
              await gate.opened;
            }
          });
          await queue.insert(db.source, "first");
          await broker.start();
          await until(async () => (await db.rows(Jobs)).length === 2);
          expect(broker.stats()[0]?.inWork).toBe(1);
          gate.open();
          await until(() => broker.stats()[0]?.settled.ack === 2);
          expect(await db.effects()).toEqual(["first", "published"]);
        },
      );
    }
  });
});

describe("44: a stop under advisory locks", () => {
  forEachSource({ connections: "many" }, (_name, open) => {
    test("44: waits for the settlement in flight, and leaves no lock", async () => {
      const db = await openTables(open, [AdvisoryJobs]);
      const queue = AdvisoryJobs.queue("a");
      const source = new WatchedSource(db.source);
      Object.assign(source, { database: "postgres" });
      const { broker } = testBroker(source);
      broker.subscribe(queue, () => undefined);
      // The settlement waits for a row that somebody has.
      await db.query(`CREATE TABLE turnstile (n int); INSERT INTO turnstile VALUES (1);
        CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM n FROM turnstile FOR UPDATE; RETURN OLD; END $$;
        CREATE TRIGGER pass BEFORE DELETE ON advisory_jobs FOR EACH ROW EXECUTE FUNCTION pass()`);
      const blocker = await db.another().connect();
      await blocker.begin();
      await blocker.query("SELECT n FROM turnstile FOR UPDATE");
      await queue.insert(db.source, "x");
      await broker.start();
      const waiting =
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
      await until(async () => (await db.query(waiting)).rows.length === 1);
      let isStopped = false;
      const stopped = broker.stop({ graceMs: 5000 }).then(() => {
        isStopped = true;
      });
      for (let look = 0; look < 5; look += 1) await db.query("SELECT 1");
      expect(isStopped).toBe(false);
      expect((await db.query(LOCKS)).rows).toHaveLength(1);
      await blocker.rollback();
      await blocker.release();
      await stopped;
      expect(broker.stats()[0]?.settled.ack).toBe(1);
      expect(await db.rows(AdvisoryJobs)).toEqual([]);
      expect((await db.query(LOCKS)).rows).toEqual([]);
      expect(source.inUse).toBe(0);
    });

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
          if (message === "unlocks") await tx.query("SELECT pg_advisory_unlock_all()");
          else await tx.query("SELECT 1");
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
      expect((await db.query(LOCKS)).rows).toEqual([]);
      expect(await db.rows(AdvisoryJobs)).toMatchObject([{ attempt: 1 }, { attempt: 1 }]);
    });
  });
});
