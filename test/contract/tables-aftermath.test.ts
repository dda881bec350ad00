import pg from "pg";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { type Clock, systemClock, type Timer } from "../../src/clock.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { fromPg } from "../../src/driver/pg.ts";
import { fromPglite } from "../../src/driver/pglite.ts";
import { fromPostgresJs } from "../../src/driver/postgres-js.ts";
import { SchemaError } from "../../src/errors.ts";
import { c } from "../../src/table/columns.ts";
import {
  FORMS,
  formsOf,
  LeaseJobs,
  openTables,
  rejection,
  testBroker,
} from "../support/broker-table.ts";
import { createDatabase, describeOn } from "../support/databases.ts";
import { Gate } from "../support/gate.ts";
import { JumpClock } from "../support/jump-clock.ts";
import { emptyPglite } from "../support/pglite.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

/** What a connection answers that is fit for work; of mariadb on MySQL the number is a bigint. */
async function ones(connection: Connection): Promise<readonly number[]> {
  const { rows } = await connection.query<{ one: unknown }>("SELECT 1 AS one");
  return rows.map(({ one }) => Number(one));
}

/** The host's clock, which knows how many of its timers wait. */
class CountingClock implements Clock {
  readonly #waiting = new Set<object>();

  get timers(): number {
    return this.#waiting.size;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const key = {};
    this.#waiting.add(key);
    const timer = systemClock.setTimer(() => {
      this.#waiting.delete(key);
      callback();
    }, delayMs);
    return {
      cancel: () => {
        this.#waiting.delete(key);
        timer.cancel();
      },
    };
  }
}

/** A table that is not there. */
const Missing = inboxTable("missing_jobs", {
  columns: { id: c.bigint().id(), lease: c.timestamp().lockedUntil(), payload: c.json().payload() },
});

/** Sessions of the source that do something, or wait for something that they began. */
const BUSY = `SELECT query, state FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test'
    AND (state <> 'idle' OR query ILIKE 'listen%')`;

describe("brokers and what they leave", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    for (const { form, Jobs } of FORMS) {
      test(`74, ${form}: after a stop there is no timer, no lock, no transaction and no listener`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const clock = new CountingClock();
        const { broker } = testBroker(db.source, { clock, listenNotify: name !== "handmade" });
        const gate = new Gate();
        let hasWaited = false;
        broker.subscribe(
          queue,
          { workers: 2, transactional: true },
          async (message, { tx, signal }) => {
            await tx.sql`SELECT 1`;
            if (message === "fails") throw new Error("no stock");
            if (message !== "hangs") return;
            hasWaited = true;
            await Promise.race([
              gate.opened,
              new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
            ]);
          },
        );
        await queue.insert(db.source, ["hangs", "fails", "works", "works"]);
        await broker.start();
        await until(() => hasWaited && broker.stats()[0]?.settled.ack === 2);
        expect(clock.timers).toBeGreaterThan(0);
        await broker.stop({ graceMs: 1 });
        expect(clock.timers).toBe(0);
        // The server takes a moment to notice a connection that was closed.
        await until(async () => (await db.query(BUSY)).rows.length === 0);
        const locks = await db.query(
          "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()",
        );
        expect(locks.rows).toEqual([]);
      });
    }
  });

  forEachTarget({ connections: "many" }, (target, open) => {
    const listenNotify = target.dialect.features.listenNotify && target.name !== "handmade";
    for (const { form, Jobs } of formsOf(target)) {
      test(`75, 76, ${form}: sessions that end, idle, at work and listening, end no process`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const { broker, logger } = testBroker(db.source, { leaseMs: 200, listenNotify });
        const seen: unknown[] = [];
        const gate = new Gate();
        let calls = 0;
        broker.subscribe(queue, { workers: 2 }, async (message) => {
          // Of a session that has ended the row comes again, while its first handler still runs.
          const isFirst = message === "slow" && calls++ === 0;
          if (isFirst) await gate.opened;
          seen.push(message);
        });
        await queue.insert(db.source, "slow");
        await broker.start();
        await until(() => broker.stats()[0]?.inWork === 1);
        for (let round = 0; round < 3; round += 1) {
          await db.endSessions();
          // Work goes on with the sessions that follow; an insert may meet one that has just ended.
          await until(() =>
            queue.insert(db.source, `round ${round}`).then(
              () => true,
              () => false,
            ),
          );
          // Claims that failed wait longer each time.
          await until(() => seen.includes(`round ${round}`), { deadline: 25_000 });
        }
        gate.open();
        await until(() => seen.filter((message) => message === "slow").length > 0);
        await until(async () => (await db.rows(Jobs)).length === 0);
        await broker.stop();
        expect(logger.of("subscription_failed")).toEqual([]);
        // Every connection of the pool can be had again.
        const connections = await Promise.all(Array.from({ length: 5 }, () => db.source.connect()));
        for (const connection of connections) {
          expect(await ones(connection)).toEqual([1]);
          await connection.release();
        }
      });
    }
  });

  forEachTarget({ connections: "one" }, (target, open) => {
    for (const { form, Jobs } of formsOf(target)) {
      test(`75, ${form}: a stop, and a start that fails, leave the source as it was`, async () => {
        const db = await openTables(open, [Jobs]);
        const queue = Jobs.queue("a");
        const working = testBroker(db.source).broker;
        working.subscribe(queue, () => undefined);
        await working.start();
        await working.publish(queue, 1);
        await until(() => working.stats()[0]?.settled.ack === 1);
        await working.stop();
        const failing = testBroker(db.source).broker;
        failing.subscribe(queue, () => undefined);
        failing.subscribe(Missing.queue(), () => undefined);
        expect(await rejection(failing.start())).toBeInstanceOf(SchemaError);
        // Nothing is closed, and every connection can be had.
        const { max = 5 } = db.source;
        const connections = await Promise.all(
          Array.from({ length: max }, () => db.source.connect(AbortSignal.timeout(5000))),
        );
        for (const connection of connections) {
          expect(await ones(connection)).toEqual([1]);
          await connection.release();
        }
      });
    }

    test("33, 76: renewals and claims that fail end nothing, and go on when they can", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const clock = new JumpClock();
      const { broker, logger } = testBroker(db.source, { clock, leaseMs: 600_000 });
      const gate = new Gate();
      const aborts: unknown[] = [];
      broker.subscribe(queue, { workers: 2 }, async (_, { signal }) => {
        signal.addEventListener("abort", () => aborts.push(signal.reason));
        await gate.opened;
      });
      await queue.insert(db.source, "slow");
      await broker.start();
      await until(() => broker.stats()[0]?.inWork === 1);
      const { rename } = wordsOf(db.dialect);
      await db.query(rename("lease_jobs", "away"));
      clock.jump(300_000);
      // It is tried twice: neither is under way when time goes on.
      await until(() => logger.of("renewal_failed").length === 2);
      await until(() => logger.of("claim_failed").length > 0);
      await db.query(rename("away", "lease_jobs"));
      // The next try comes before half of what is left of the lease is over.
      clock.jump(151_000);
      await until(() => logger.of("renewal_failed_recovered").length > 0);
      gate.open();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await broker.stop();
      expect(aborts).toEqual([]);
      expect(await db.rows(LeaseJobs)).toEqual([]);
      expect(logger.of("subscription_failed")).toEqual([]);
    });
  });

  forEachTarget({ connections: "one" }, (target, open) => {
    test("69: a headers column is the delivery's headers, text by name; null is none", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(queue, (_, { headers }) => void seen.push(headers));
      await queue.insert(db.source, 1, { headers: { trace: "t", 'é "x"': "" } });
      await queue.insert(db.source, 2);
      await db.query(
        `INSERT INTO lease_jobs (grp, payload, headers) VALUES ('a', '3', '{"n": 5, "on": true, "none": null}')`,
      );
      await broker.start();
      await until(() => seen.length === 3);
      expect(seen).toEqual([{ trace: "t", 'é "x"': "" }, {}, { n: "5", on: "true" }]);
    });

    test("69, 55: headers that are no flat object are a row that does not decode", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      await db.query(
        `INSERT INTO lease_jobs (grp, payload, headers) VALUES ('a', '1', '[1]'), ('a', '2', '{"a": {}}'), ('a', '3', NULL)`,
      );
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await until(() => broker.stats()[0]?.settled.drop === 2);
      expect(logger.of("decode_failed").map(({ fields }) => String(fields.error))).toEqual([
        expect.stringContaining("the headers are no flat JSON object"),
        expect.stringContaining('"a" is no text'),
      ]);
    });

    test("79, 22: a server that is too old stops the start, with what it is and what it takes", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { dialect } = target;
      const { inspection } = dialect;
      const oldestVersion = { version: 99_000_000, label: "99" };
      const { broker } = testBroker(db.source, {
        dialect: { ...dialect, inspection: { ...inspection, oldestVersion } },
      });
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(SchemaError);
      expect(String(error)).toMatch(/the server is (SQL Server )?\d+.*; intray takes 99 or later/);
      const oldest = {
        postgres: "11",
        mysql: "MySQL 8.0.4 or MariaDB 10.6",
        sqlite: "3.35",
        sqlserver: "SQL Server 2016 (13) and compatibility level 130",
      };
      expect(oldest).toMatchObject({ [dialect.name]: inspection.oldestVersion.label });
    });
  });
});

describeOn("postgres", "75: the pool is the service's", () => {
  async function database() {
    const made = await createDatabase();
    onTestFinished(() => made.drop());
    for (const statement of LeaseJobs.ddl("postgres")) await made.query(statement);
    return made;
  }

  test("of pg: a stop neither ends it nor leaves a listener more", async () => {
    const { url } = await database();
    const pool = new pg.Pool({ connectionString: url, max: 3 });
    onTestFinished(() => pool.end());
    const listeners = () => pool.eventNames().map((event) => [event, pool.listenerCount(event)]);
    const run = async () => {
      const { broker } = testBroker(fromPg(pool), { listenNotify: true });
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      await broker.start();
      await broker.publish(LeaseJobs.queue("a"), 1);
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await broker.stop();
    };
    await run();
    const before = listeners();
    await run();
    expect(listeners()).toEqual(before);
    expect(pool.idleCount).toBe(pool.totalCount);
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  test("of postgres.js: a stop does not end it", async () => {
    const { url } = await database();
    const sql = postgres(url, { max: 3 });
    onTestFinished(() => sql.end());
    const { broker } = testBroker(fromPostgresJs(sql), { listenNotify: true });
    broker.subscribe(LeaseJobs.queue("a"), () => undefined);
    await broker.run({ signal: AbortSignal.timeout(100) });
    expect([...(await sql`SELECT 1 AS one`)]).toEqual([{ one: 1 }]);
  });
});

describeOn("pglite", "75: the database is the service's", () => {
  test("of PGlite: a stop does not close it", async () => {
    const db = await emptyPglite();
    for (const statement of LeaseJobs.ddl("postgres")) await db.exec(statement);
    const { broker } = testBroker(fromPglite(db));
    broker.subscribe(LeaseJobs.queue("a"), () => undefined);
    await broker.start();
    await broker.stop();
    expect(db.closed).toBe(false);
    expect((await db.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });
});
