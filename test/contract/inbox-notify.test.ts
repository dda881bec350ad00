import { describe, expect, test } from "vitest";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { type OpenedInbox, openInbox } from "../support/inbox.ts";
import { forEachSource } from "../support/sources.ts";
import { TestClock } from "../support/test-clock.ts";
import { eventually, WatchedSource, work } from "../support/work-inbox.ts";

const HOUR = 3_600_000;
const listening = { listenNotify: true, pollIntervalMs: HOUR };

/** Server processes that listen in this database. */
async function listeners(inbox: OpenedInbox): Promise<number[]> {
  const { rows } = await inbox.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND query ~* '^listen' AND pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid }) => pid);
}

/** The worker listens, has looked at the table, and rests. */
async function resting(inbox: OpenedInbox, watched: WatchedSource): Promise<void> {
  await eventually(async () => (await listeners(inbox)).length === 1);
  // Listening wakes once, for what may have been missed.
  await eventually(() => watched.connects >= 3 && watched.inUse === 0);
}

describe("a worker that listens for notifications", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("takes a new message at once on a source of one connection that listens apart", async () => {
      const inbox = await openInbox(open, { listenNotify: true });
      if (inbox.source.listensApart !== true) return;
      const { stop } = work(inbox.source, () => {}, { listenNotify: true, pollIntervalMs: HOUR });
      await inbox.insert({ key: "first" });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await inbox.insert({ key: "second" });
      await eventually(async () => (await inbox.count("processed")) === 2);
      await stop();
    });
  });

  forEachSource({ connections: "many" }, (_name, open) => {
    test("takes a new message at once, also with a poll interval of an hour; others' messages wake nobody", async () => {
      const inbox = await openInbox(open, { listenNotify: true });
      const watched = new WatchedSource(inbox.source);
      if (watched.listen === undefined) return refusesToListen(watched);
      const { stop } = work(watched, () => {}, listening);
      await resting(inbox, watched);
      const { connects } = watched;
      await inbox.insert({ key: "other", source: "payments" }, { key: "later", dueInMs: HOUR });
      await inbox.insert({ key: "mine" });
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
      expect((await inbox.row("mine")).state).toBe("processed");
      // A claim and a handler: what was there for others cost nothing.
      expect(watched.connects).toBe(connects + 2);
      await eventually(async () => (await listeners(inbox)).length === 0);
    });

    test("N2: when its listening session is killed it listens anew, and takes what came meanwhile", async () => {
      const inbox = await openInbox(open, { listenNotify: true });
      const watched = new WatchedSource(inbox.source);
      if (watched.listen === undefined) return;
      const clock = new TestClock();
      const { logger, stop } = work(watched, () => {}, { ...listening, clock });
      await resting(inbox, watched);
      const [pid] = await listeners(inbox);
      await inbox.query("SELECT pg_terminate_backend($1, 5000)", [pid]);
      await eventually(() => logger.of("listen_failed").length === 1);
      await inbox.insert({ key: "meanwhile" });
      expect((await inbox.row("meanwhile")).state).toBe("pending");
      await clock.advance(1200);
      await eventually(async () => (await inbox.row("meanwhile")).state === "processed");
      await inbox.insert({ key: "after" });
      await eventually(async () => (await inbox.row("after")).state === "processed");
      await stop();
      expect(logger.of("listen_failed_recovered")).toHaveLength(1);
      expect(clock.timers).toBe(0);
    });

    test("N5: notifications only wake: a message that nobody told of is taken at the next poll", async () => {
      const inbox = await openInbox(open);
      const watched = new WatchedSource(inbox.source);
      if (watched.listen === undefined) return;
      const clock = new TestClock();
      const { stop } = work(watched, () => {}, { ...listening, clock });
      await resting(inbox, watched);
      await inbox.insert({ key: "untold" });
      const { connects } = watched;
      await clock.advance(Number(clock.next) - 1);
      expect(watched.connects).toBe(connects);
      await clock.advance(1);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
    });

    test("N10: notifications of many transactions while it works one message are one claim", async () => {
      const inbox = await openInbox(open, { listenNotify: true });
      const watched = new WatchedSource(inbox.source);
      if (watched.listen === undefined) return;
      const { stop } = work(watched, () => {}, { ...listening, batchSize: 50 });
      await resting(inbox, watched);
      const { connects } = watched;
      await inbox.query(`INSERT INTO inbox (source, idempotency_key, payload, consumption)
        SELECT 'orders', 'm-' || n, '{}', 'pull' FROM generate_series(1, 20) AS n`);
      await eventually(async () => (await inbox.count("processed")) === 20);
      await stop();
      // One claim for all of them, and a connection for each handler.
      expect(watched.connects).toBe(connects + 21);
    });

    test("stops at once, whatever its listening connection does", async () => {
      const inbox = await openInbox(open);
      const stuck: ConnectionSource = {
        connect: (signal) => inbox.source.connect(signal),
        listen: () => new Promise(() => {}),
      };
      await inbox.insert({ key: "a" });
      const { stop } = work(stuck, () => {}, listening);
      await eventually(async () => (await inbox.count("processed")) === 1);
      await stop();
    });
  });
});

function refusesToListen(source: ConnectionSource): void {
  expect(() => work(source, () => {}, listening)).toThrow(/listenNotify/);
}
