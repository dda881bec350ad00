import { describe, expect, test } from "vitest";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { purgeProcessed } from "../../src/broker/purge-processed.ts";
import { tableStatus } from "../../src/broker/table-status.ts";
import { TableError } from "../../src/errors.ts";
import { deadLetter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import {
  AdvisoryJobs,
  formsOf,
  LeaseJobs,
  LockJobs,
  openTables,
  rejection,
  testBroker,
} from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const Graves = inboxTable("graves", {
  columns: {
    id: c.bigint().id().generated(),
    attempt: c.integer().attempt({ from: 0 }).generated(),
    grp: c.text().nullable(),
    prio: c.integer().nullable(),
    lane: c.text().nullable(),
    headers: c.json().nullable(),
    reason: c.text().nullable(),
    note: c.text().nullable(),
    buried: c.timestamp().generated(),
    payload: c.json().payload(),
  },
});
const Done = inboxTable("done_jobs", {
  columns: { id: c.uuid().id().generated(), done: c.timestamp().nullable().processedAt() },
});
const Numbered = inboxTable("numbered", {
  columns: { id: c.integer().id().generated(), grp: c.integer().group() },
  clock: "system",
});

describe("78: dead letters in code", () => {
  forEachTarget({ connections: "one writer" }, (target, open) => {
    test.each(formsOf(target))(
      "78: a $form row whose handler runs is left alone",
      async ({ Jobs }) => {
        const db = await openTables(open, [Jobs]);
        const failed = Jobs.queue("failed");
        const { broker } = testBroker(db.source);
        const gate = new Gate();
        broker.subscribe(failed, () => gate.opened);
        await failed.insert(db.source, { n: 1 });
        await broker.start();
        await until(() => broker.stats()[0]?.inWork === 1);
        const dead = deadLetters(db.source, failed);
        const [{ id } = { id: "" }] = await dead.list();
        expect(await dead.purge({ ids: [id] })).toEqual([]);
        expect(await dead.retry({ ids: [id], to: Jobs.queue("work") })).toMatchObject({ ids: [] });
        const one = await db.another().connect();
        const options = { dialect: db.dialect };
        expect(await deadLetters(one, failed, options).purge({ all: true })).toEqual([]);
        await one.release();
        gate.open();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(await db.rows(Jobs)).toEqual([]);
        await failed.insert(db.source, [{ n: 2 }, { n: 3 }]);
        await until(() => broker.stats()[0]?.settled.ack === 3);
        await broker.stop();
        const [two] = await failed.insert(db.source, [{ n: 4 }, { n: 5 }]);
        const moved = { ids: [String(two)], to: Jobs.queue("work") };
        expect(await dead.retry(moved)).toMatchObject({ ids: [String(two)] });
        expect(await dead.purge({ all: true })).toHaveLength(1);
        expect(await db.rows(Jobs)).toMatchObject([{ id: String(two), grp: "work" }]);
      },
    );
  });

  forEachTarget({ connections: "one writer", dialect: "sqlite" }, (_target, open) => {
    test("78: rows under advisory locks are changed where somebody can tell which are in work", async () => {
      const db = await openTables(open, [AdvisoryJobs]);
      const failed = AdvisoryJobs.queue("failed");
      await failed.insert(db.source, { n: 1 });
      const bare = { query: db.query };
      const dead = deadLetters(bare, failed, { dialect: "sqlite" });
      expect(await dead.list()).toHaveLength(1);
      const why = "pass the connection source";
      await expect(dead.purge({ all: true })).rejects.toThrow(why);
      await expect(dead.retry({ all: true, to: AdvisoryJobs.queue("work") })).rejects.toThrow(why);
      expect(await db.rows(AdvisoryJobs)).toHaveLength(1);
    });
  });

  forEachTarget({ connections: "many" }, (target, open) => {
    test.each(formsOf(target))(
      "78: a $form queue's dead letters are looked at and worked again",
      async ({ Jobs }) => {
        const db = await openTables(open, [Jobs]);
        const [work, failed] = [Jobs.queue("work"), Jobs.queue("failed")];
        const { broker } = testBroker(db.source);
        const seen: unknown[] = [];
        let isBroken = true;
        broker.subscribe(work, { maxAttempts: 3, deadLetter: failed }, (message, { attempt }) => {
          if (isBroken) return deadLetter("no stock");
          seen.push([message, attempt]);
          return undefined;
        });
        await broker.start();
        await broker.publish(work, { n: 1 });
        await broker.publish(work, { n: 2 });
        const dead = deadLetters(db.source, failed);
        await until(async () => (await dead.list()).length === 2);
        const rows = await dead.list({ limit: 1 });
        expect(rows).toMatchObject([{ group: "failed", due: null, reason: "no stock" }]);
        // PostgreSQL writes JSON in its own way, MariaDB keeps what it was given.
        expect(rows[0]?.payload).toMatch(/^\{"n": ?2\}$/);
        expect(rows[0]?.payloadLength).toBe(rows[0]?.payload?.length);
        const [{ id } = { id: "" }] = rows;
        expect(await dead.list({ after: id })).toMatchObject([
          { payload: expect.stringMatching(/^\{"n": ?1\}$/) },
        ]);
        expect((await dead.show(BigInt(id)))?.columns).toMatchObject({
          id,
          grp: "failed",
          reason: "no stock",
          payload: expect.stringMatching(/^\{"n": ?2\}$/),
        });
        expect(await dead.show("999")).toBeUndefined();
        expect(await tableStatus(db.source, failed)).toMatchObject([
          { group: "failed", waiting: 2 },
        ]);
        isBroken = false;
        expect(await dead.retry({ ids: [id, "999"], to: work })).toEqual({
          ids: [id],
          leftBehind: [],
        });
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(seen).toEqual([[{ n: 2 }, 1]]);
        expect(await dead.purge({ all: true })).toHaveLength(1);
        await until(async () => (await db.rows(Jobs)).length === 0);
      },
    );

    test("78: groups may be numbers, and the clock the host's", async () => {
      const db = await openTables(open, [Numbered]);
      await Numbered.insert(db.source, [{ grp: 1 }, { grp: 1 }, { grp: 22 }]);
      expect(await tableStatus(db.source, Numbered)).toMatchObject([
        { group: "1", waiting: 2 },
        { group: "22", waiting: 1 },
      ]);
      const dead = deadLetters(db.source, Numbered.queue(1));
      const { ids } = await dead.retry({ all: true, to: Numbered.queue(22) });
      expect(ids).toHaveLength(2);
      expect(await tableStatus(db.source, Numbered)).toMatchObject([{ group: "22", waiting: 3 }]);
    });
  });

  forEachSource({ connections: "many" }, (_name, open) => {
    test("78: rows go back to the table that they came from, and start anew there", async () => {
      const db = await openTables(open, [LockJobs, Graves, Done]);
      await Graves.insert(
        db.source,
        [1, 2, 3].map((n) => ({ payload: { n }, reason: "late", note: `no ${n}`, attempt: 7 })),
      );
      const dead = deadLetters(db.source, Graves);
      const to = LockJobs.queue("work");
      const { ids, leftBehind } = await dead.retry({ all: true, to });
      expect(ids).toHaveLength(3);
      expect(leftBehind).toEqual(["buried"]);
      const rows = await db.query(
        "SELECT grp, attempt, due, reason, note, payload::text AS payload FROM lock_jobs ORDER BY note",
      );
      expect(rows.rows).toEqual(
        [1, 2, 3].map((n) => ({
          grp: "work",
          attempt: 1,
          due: null,
          reason: null,
          note: `no ${n}`,
          payload: `{"n": ${n}}`,
        })),
      );
      expect(await dead.list()).toEqual([]);
      expect(await rejection(dead.retry({ all: true, to: LockJobs }))).toBeInstanceOf(TypeError);
      const work = deadLetters(db.source, to);
      expect(await rejection(work.retry({ all: true, to }))).toBeInstanceOf(TypeError);
      expect(await rejection(work.retry({ all: true, to: Done }))).toBeInstanceOf(TableError);
    });

    test("78: a row under a lease is left alone", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const queue = LeaseJobs.queue("failed");
      await queue.insert(db.source, [1, 2]);
      await db.query(
        "UPDATE lease_jobs SET lease = clock_timestamp() + interval '1 hour' WHERE payload = '1'",
      );
      const dead = deadLetters(db.source, queue);
      expect(await dead.list()).toMatchObject([
        { leasedUntil: null },
        { leasedUntil: expect.any(String) },
      ]);
      expect(await dead.purge({ all: true })).toHaveLength(1);
      expect(await dead.purge({ ids: (await dead.list()).map(({ id }) => id) })).toEqual([]);
      expect(await dead.list()).toHaveLength(1);
    });

    test("78: processed rows go by their age, in chunks, uuids too", async () => {
      const db = await openTables(open, [Done, LockJobs]);
      await db.query(`INSERT INTO done_jobs (done) SELECT
        CASE WHEN n % 10 = 0 THEN NULL ELSE clock_timestamp() - n * interval '1 hour' END
        FROM generate_series(1, 50) AS n`);
      expect(await purgeProcessed(db.source, Done, { olderThan: "1d", chunk: 7 })).toBe(24);
      expect(await purgeProcessed(db.source, Done, { olderThan: 0, chunk: 1000 })).toBe(21);
      expect(await tableStatus(db.source, Done)).toMatchObject([{ waiting: 5, processed: 0 }]);
      const aborted = { olderThan: 0, signal: AbortSignal.abort(new Error("enough")) };
      expect(await rejection(purgeProcessed(db.source, Done, aborted))).toEqual(
        new Error("enough"),
      );
      expect(await rejection(purgeProcessed(db.source, LockJobs, { olderThan: 0 }))).toBeInstanceOf(
        TableError,
      );
      expect(await rejection(purgeProcessed(db.source, Done, { olderThan: -1 }))).toBeInstanceOf(
        RangeError,
      );
    });
  });
});
