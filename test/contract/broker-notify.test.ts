import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

const HOUR = 3_600_000;

/** Tables of this file's own: what one broker notifies about, every insert of the process does. */
const Heard = inboxTable("heard_jobs", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});
const AlsoHeard = inboxTable("also_heard_jobs", {
  columns: {
    id: c.bigint().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    payload: c.json().payload(),
  },
});

describe("73: notifications", () => {
  forEachSource({ connections: "many" }, (name, open) => {
    if (name === "handmade") {
      test("a source that cannot listen is refused", async () => {
        const db = await openTables(open, []);
        expect(() => testBroker(db.source, { listenNotify: true })).toThrow(
          "listenNotify takes a connection source that has a method listen",
        );
      });
      return;
    }

    test("rows of other processes wake, by one listening connection for all tables", async () => {
      const db = await openTables(open, [Heard, AlsoHeard]);
      const { broker } = testBroker(db.source, { pollIntervalMs: HOUR, listenNotify: true });
      const seen: unknown[] = [];
      broker.subscribe(Heard.queue("a"), (message) => void seen.push(message));
      broker.subscribe(Heard.queue("b"), (message) => void seen.push(message));
      broker.subscribe(AlsoHeard.queue(), (message) => void seen.push(message));
      await broker.start();
      const listening = () =>
        db.query<{ n: number }>(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'",
        );
      await until(async () => (await listening()).rows[0]?.n === 1);
      await until(() => broker.stats().every(({ state }) => state === "resting"));
      await db.query("INSERT INTO heard_jobs (grp, payload) VALUES ('a', '1'), ('b', '2')");
      await db.query("INSERT INTO also_heard_jobs (payload) VALUES ('3')");
      await until(async () => {
        // N5: a notification for a group nobody reads, or that names nothing, harms nobody.
        await db.query("SELECT pg_notify('heard_jobs', 'nobody'), pg_notify('heard_jobs', 'a')");
        return seen.includes(1);
      });
      expect(seen).toEqual([1]);
      await db.query("SELECT pg_notify('heard_jobs', ''), pg_notify('also_heard_jobs', '')");
      await until(() => seen.length === 3);
    });

    test("N2: after a lost connection it listens again, and wakes everyone once", async () => {
      const db = await openTables(open, [Heard]);
      const { broker, logger } = testBroker(db.source, {
        pollIntervalMs: HOUR,
        listenNotify: true,
      });
      const seen: unknown[] = [];
      broker.subscribe(Heard.queue("a"), (message) => void seen.push(message));
      await broker.start();
      const killed = () =>
        db.query<{ gone: boolean }>(
          "SELECT pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'",
        );
      await until(() => broker.stats().every(({ state }) => state === "resting"));
      await until(async () => (await killed()).rows.length === 1);
      await db.query("INSERT INTO heard_jobs (grp, payload) VALUES ('a', '1')");
      await until(() => seen.length === 1);
      await until(() => logger.of("listen_failed_recovered").length > 0);
    });

    test("N6, N10: an insert of many rows notifies once, and only with its transaction", async () => {
      const db = await openTables(open, [Heard]);
      const { broker } = testBroker(db.source, { listenNotify: true });
      const queue = Heard.queue("a");
      broker.subscribe(queue, { transactional: true }, async (message, { tx }) => {
        if (message !== "go") return;
        await Heard.queue("b").insert(tx, [1, 2, 3]);
        await Heard.queue("b").insert(tx, [4, 5, 6]);
      });
      const heard: string[] = [];
      const listen = db.source.listen?.("heard_jobs", {
        notified: (payload) => heard.push(payload),
        lost: () => undefined,
      });
      const close = await listen;
      await queue.insert(db.source, ["x", "y", "z"]);
      await until(() => heard.length > 0);
      await broker.start();
      await broker.publish(queue, "go");
      await until(() => heard.includes("b"));
      await db.query("NOTIFY heard_jobs, 'last'");
      await until(() => heard.includes("last"));
      await close?.();
      expect(heard).toEqual(["a", "a", "b", "last"]);
    });

    test("N9, 76: a listen that fails is logged, and rows are found by polling", async () => {
      const db = await openTables(open, [Heard]);
      const { source } = db;
      const deaf = {
        database: "postgres",
        ...(source.max !== undefined && { max: source.max }),
        connect: (signal?: AbortSignal) => source.connect(signal),
        listen: () => Promise.reject(new Error("no ears")),
      };
      const { broker, logger } = testBroker(deaf, { listenNotify: true });
      const seen: unknown[] = [];
      broker.subscribe(Heard.queue("a"), (message) => void seen.push(message));
      await broker.start();
      await db.query("INSERT INTO heard_jobs (grp, payload) VALUES ('a', '1')");
      await until(() => seen.length === 1);
      await until(() => logger.of("listen_failed").length > 0);
      await broker.stop();
    });
  });
});
