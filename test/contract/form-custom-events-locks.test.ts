import { describe, expect, test } from "vitest";
import { type EventConn, type EventWords, eventWordsOf } from "../support/event-words.ts";
import {
  type OpenedForm,
  openForm,
  type SubscribeOptions,
  subscribe,
} from "../support/form-table.ts";
import { forEachTarget, type Open } from "../support/sources.ts";
import { until } from "../support/until.ts";

async function openLocked(open: Open, words: EventWords, own: object): Promise<OpenedForm> {
  const { lock, locks, unlock } = words;
  const jobs = await openForm(open, { form: "advisoryLock", custom: { lock, unlock, ...own } });
  if (locks !== undefined) await jobs.query(locks);
  return jobs;
}

/** What rows say in these tests. */
const TEXTS = ["a", "b", "gone", "ack", "drop", "later", "throw", "stop"];

async function heldLocks(jobs: OpenedForm): Promise<number> {
  const keys = TEXTS.map((text) => `key-${text}`);
  const { rows } = await jobs.query<{ held: unknown }>(eventWordsOf(jobs.dialect).held(keys));
  return Number(rows[0]?.held);
}

const FAILING_UNLOCKS: readonly {
  readonly how: string;
  readonly unlock: () => Promise<unknown>;
  readonly options: SubscribeOptions;
}[] = [
  { how: "says no", unlock: async () => false, options: {} },
  { how: "throws", unlock: () => Promise.reject(new Error("no")), options: {} },
  {
    how: "throws in transactional mode",
    unlock: () => Promise.reject(new Error("no")),
    options: { transactional: true },
  },
  {
    how: "throws of a batch",
    unlock: () => Promise.reject(new Error("no")),
    options: { batch: 5 },
  },
  { how: "answers no boolean", unlock: async () => undefined, options: {} },
];

describe("locks of the service's own", () => {
  forEachTarget({ connections: "one writer", form: "advisoryLock" }, ({ dialect, name }, open) => {
    const words = eventWordsOf(dialect.name);
    const { lock, unlock } = words;
    // A source that keeps a connection in doubt keeps what its session has locked.
    const closesDoubtful = name !== "handmade" && words.endWithSession;

    test.each(closesDoubtful ? FAILING_UNLOCKS : [])(
      "41, 67: the row is settled and the connection closed where unlock $how",
      async ({ how, options, unlock: own }) => {
        let calls = 0;
        const jobs = await openLocked(open, words, {
          unlock: async () => {
            calls += 1;
            return await own();
          },
        });
        const ids = await jobs.insert("a", "b");
        const worker = subscribe(jobs, () => {}, { slots: 1, ...options });
        await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 2);
        await until(() => worker.logger.of("unlock_failed").length > 0);
        // Nobody unlocked anything: that the sessions are gone is what released the keys.
        await until(async () => (await heldLocks(jobs)) === 0);
        await worker.stop();
        expect(calls).toBe(2);
        expect(await jobs.rows()).toEqual([]);
        const ends = worker.told.filter((line) => !line.startsWith("claimed"));
        expect(ends.toSorted()).toEqual(ids.map((id) => `settled ack ${id}`));
        const error = String(worker.logger.of("unlock_failed")[0]?.fields.error);
        expect(error).toContain('the event "unlock" of jobs failed');
        if (how.startsWith("throws")) expect(error).toContain("no");
      },
    );

    test.each<{
      how: string;
      why: string;
      first(conn: EventConn, key: string): Promise<unknown>;
    }>([
      {
        how: "throws",
        why: "not now",
        first: async (conn, key) => {
          if (closesDoubtful) await lock(conn, key);
          throw new Error("not now");
        },
      },
      {
        how: "answers text",
        why: 'it answers true or false, not "yes"',
        first: async () => "yes",
      },
      {
        how: "answers nothing",
        why: "it answers true or false, not undefined",
        first: async () => {},
      },
    ])("67: the claim is taken back where lock $how", async ({ first, why }) => {
      let calls = 0;
      const jobs = await openLocked(open, words, {
        lock: async (conn: EventConn, key: string) => {
          calls += 1;
          return calls === 1 ? await first(conn, key) : await lock(conn, key);
        },
      });
      const [id] = await jobs.insert("a");
      const attempts: unknown[] = [];
      const worker = subscribe(jobs, ({ rows: [row] }) => void attempts.push(row?.attempt));
      await until(() => worker.told.includes(`settled ack ${id}`));
      await worker.stop();
      const [line] = worker.logger.of("claim_failed");
      expect(String(line?.fields.error)).toContain(`the event "lock" of jobs failed: ${why}`);
      expect(attempts).toEqual(["2"]);
      expect(await heldLocks(jobs)).toBe(0);
    });

    test("41: a retry, a drop, a throw and a stop leave no lock of its own behind", async () => {
      const unlocked: string[] = [];
      const jobs = await openLocked(open, words, {
        unlock: async (conn: EventConn, key: string) => {
          unlocked.push(key);
          return await unlock(conn, key);
        },
      });
      const texts = ["ack", "drop", "later", "throw", "stop"];
      await jobs.insert(...texts);
      const worker = subscribe(
        jobs,
        async ({ signal, texts: [text] }) => {
          if (text === "drop") return { kind: "drop" };
          if (text === "later") return { kind: "retryAfter", delayMs: 3_600_000 };
          if (text === "throw") throw new Error("no");
          if (text !== "stop") return undefined;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw signal.reason;
        },
        { slots: 5, graceMs: 0 },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 4);
      await until(() => worker.told.filter((line) => line.startsWith("claimed")).length === 5);
      await worker.stop();
      // A claim that looked before a settlement takes a key in vain, and unlocks it again.
      expect([...new Set(unlocked)].toSorted()).toEqual(
        texts.map((text) => `key-${text}`).toSorted(),
      );
      expect(await heldLocks(jobs)).toBe(0);
      expect(await jobs.rows()).toMatchObject([
        { text: "later", attempt: 2 },
        { text: "throw", attempt: 2 },
        { text: "stop", attempt: 1 },
      ]);
    });
  });

  // With one writer nobody settles a row between the claim's look and its lock.
  forEachTarget({ connections: "many", form: "advisoryLock" }, ({ dialect, name }, open) => {
    const words = eventWordsOf(dialect.name);
    const { lock, unlock } = words;

    test.each(name !== "handmade" ? [{ unlocks: true }, { unlocks: false }] : [{ unlocks: true }])(
      "66: a key that was locked in vain is unlocked again ($unlocks)",
      async ({ unlocks }) => {
        let calls = 0;
        let isTried = false;
        const jobs = await openLocked(open, words, {
          lock: async (conn: EventConn, key: string) => {
            calls += 1;
            // Whoever had the key before has settled its row since the claim looked.
            if (calls === 1) {
              const { later, now } = jobs.words;
              await jobs.query(`UPDATE jobs SET due = ${later(now, 3_600_000)}`);
            }
            const taken = await lock(conn, key);
            isTried = true;
            return taken;
          },
          unlock: async (conn: EventConn, key: string) => unlocks && (await unlock(conn, key)),
        });
        await jobs.insert("gone");
        // One claim at a time: another would have the key, or the row, before the change.
        const worker = subscribe(jobs, () => {}, { slots: 1 });
        await until(() => isTried);
        await until(async () => (await heldLocks(jobs)) === 0);
        await jobs.query("UPDATE jobs SET due = NULL");
        await until(() => worker.told.includes("settled ack 1"));
        await worker.stop();
        const failed = worker.logger.of("claim_failed").map(({ fields }) => String(fields.error));
        if (unlocks) expect(failed).toEqual([]);
        else expect(failed[0]).toContain('the event "unlock" of jobs failed');
      },
    );
  });
});
