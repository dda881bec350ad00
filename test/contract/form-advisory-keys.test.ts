import { describe, expect, onTestFinished, test } from "vitest";
import { openForm, subscribe } from "../support/form-table.ts";
import { type Holder, holdersOf, keyLocksOf } from "../support/key-locks.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("the locks of keys", () => {
  forEachTarget({ connections: "one writer", form: "advisoryLock" }, (_target, open) => {
    test("40: while the handler runs the session holds that one lock, and no transaction is open", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.insert("a", "b");
      const seen: Holder[][] = [];
      const look = async () => void seen.push(await holdersOf(jobs, ["a", "b"]));
      const worker = subscribe(jobs, look, { slots: 1 });
      await until(async () => (await jobs.rows()).length === 0);
      await worker.stop();
      const one = [{ locks: 1, inTransaction: false }];
      expect(worker.failures).toEqual([]);
      expect(seen).toEqual([one, one]);
    });

    test("42: a key's lock is the one that its name says, however long: who has it holds the row back", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      const locks = await keyLocksOf(jobs);
      const { longest = 250 } = locks;
      // Characters of two bytes each: it is characters that are counted.
      const held = ["short", "ü".repeat(longest), "ü".repeat(longest + 1)];
      const session = await jobs.another().connect();
      onTestFinished(() => session.release());
      for (const text of held) expect(await locks.take(session, text)).toBe(true);
      const ids = await jobs.insert(...held);
      const [free] = await jobs.insert("free");
      const taken: boolean[] = [];
      const worker = subscribe(
        jobs,
        async ({ texts: [text = ""] }) => void taken.push(await locks.take(session, text)),
        { slots: 1 },
      );
      await until(() => worker.told.includes(`settled ack ${free}`));
      expect((await jobs.rows()).map(({ id }) => id)).toEqual(ids);
      for (const text of held) await locks.give(session, text);
      await until(async () => (await jobs.rows()).length === 0);
      await worker.stop();
      // Nor is it anybody else's while the row is in work.
      expect(taken).toEqual([false, false, false, false]);
      expect(worker.told.filter((line) => line.startsWith("claimed"))).toHaveLength(4);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("42: on PostgreSQL it is a hash of 64 bits, in a lock of the session", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.insert("a");
      const seen: unknown[] = [];
      const worker = subscribe(
        jobs,
        async ({ tx }) => {
          const { rows } = await tx.query(
            `SELECT objsubid, mode, ((classid::bigint << 32) | objid::bigint) = hashtextextended('jobs.key-a', 0) AS named
            FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
          );
          seen.push(...rows);
        },
        { transactional: true, slots: 1 },
      );
      await until(() => worker.told.some((line) => /^(settled|returned)/.test(line)));
      await worker.stop();
      expect(worker.failures).toEqual([]);
      expect(seen).toEqual([{ objsubid: 1, mode: "ExclusiveLock", named: true }]);
    });
  });
});
