import { describe, expect, test } from "vitest";
import { type EventConn, eventWordsOf } from "../support/event-words.ts";
import {
  type OpenedForm,
  openForm,
  type Subscribed,
  subscribe,
  type TestHandler,
} from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { JumpClock } from "../support/jump-clock.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

/** Far longer than any test: it is the test that makes the time pass by which leases are renewed. */
const LEASE_MS = 600_000;

interface Renewing extends Subscribed {
  readonly clock: JumpClock;
  /** Lets half a lease pass, at which every row in hand is renewed, and waits for what that does. */
  renew(isDone: () => boolean): Promise<void>;
}

/** A worker with a slot for each of the rows, which are in work. */
async function renewing(
  jobs: OpenedForm,
  rows: number,
  handler: TestHandler,
  options: { readonly transactional?: boolean } = {},
): Promise<Renewing> {
  const clock = new JumpClock();
  const source = new WatchedSource(jobs.source);
  const settings = { ...options, clock, source, slots: rows, leaseMs: LEASE_MS };
  const worker = subscribe(jobs, handler, settings);
  await until(() => worker.engine.running === rows);
  const held = options.transactional === true ? rows : 0;
  return {
    ...worker,
    clock,
    async renew(isDone) {
      // Of the last renewal nothing is under way, so that none runs out of time.
      await until(() => source.inUse === held);
      clock.jump(LEASE_MS / 2);
      await until(isDone);
    },
  };
}

function extendOf(name: string) {
  const { writeLease } = eventWordsOf(name);
  return (conn: EventConn, id: bigint, _held: Date, end: Date) => writeLease(conn, id, end);
}

describe("extensions of the service's own", () => {
  forEachTarget({ connections: "one writer" }, ({ dialect }, open) => {
    const extend = extendOf(dialect.name);

    test("33, 67: one that fails for a row costs the rows beside it nothing", async () => {
      const calls = new Map<bigint, number>();
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          extend: async (conn: EventConn, id: bigint, held: Date, end: Date) => {
            calls.set(id, (calls.get(id) ?? 0) + 1);
            // An SQL error: it may abort the transaction of all.
            if (id === 1n) await conn.query("SELECT * FROM nowhere");
            return await extend(conn, id, held, end);
          },
        },
      });
      await jobs.insert("fails", "goes on");
      const gate = new Gate();
      const worker = await renewing(jobs, 2, async ({ signal, texts: [text] }) => {
        if (text === "goes on") await gate.opened;
        else await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
      for (let times = 1; times <= 4; times += 1) {
        await worker.renew(() => calls.get(2n) === times);
      }
      gate.open();
      await until(() => worker.told.includes("settled ack 2"));
      await worker.stop();
      expect(worker.told).toContain("returned lost 1");
      expect(worker.told.filter((line) => line === "claimed 2")).toHaveLength(1);
      const [line] = worker.logger.of("renewal_failed");
      expect(line?.fields).toMatchObject({ id: "1" });
      expect(String(line?.fields.error)).toContain('the event "extend" of jobs failed');
    });

    test.each<{ how: string; why: string; first(): Promise<unknown> }>([
      { how: "throws", why: "not now", first: () => Promise.reject(new Error("not now")) },
      { how: "answers no boolean", why: "it answers true or false, not 1", first: async () => 1 },
      {
        how: "says that it held and writes nothing",
        why: "it answered true for row 1, whose lease ends as before",
        first: async () => true,
      },
    ])("33, 67: it is tried again at once where it $how", async ({ first, why }) => {
      let calls = 0;
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          extend: async (conn: EventConn, id: bigint, held: Date, end: Date) => {
            calls += 1;
            return calls === 1 ? await first() : await extend(conn, id, held, end);
          },
        },
      });
      await jobs.insert("a");
      const gate = new Gate();
      const worker = await renewing(jobs, 1, () => gate.opened);
      for (const times of [2, 3, 4]) await worker.renew(() => calls === times);
      gate.open();
      await until(() => worker.told.some((line) => /^(settled|returned)/.test(line)));
      await worker.stop();
      expect(worker.told).toEqual(["claimed 1", "settled ack 1"]);
      expect(String(worker.logger.of("renewal_failed")[0]?.fields.error)).toContain(
        `the event "extend" of jobs failed: ${why}`,
      );
    });

    test("33: it is told the lease's end as it is and as it is to be, and false is a lost row", async () => {
      const told: { id: unknown; held: Date; end: Date }[] = [];
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          extend: async (conn: EventConn, id: bigint, held: Date, end: Date) => {
            told.push({ id, held, end });
            return told.length === 1 && (await extend(conn, id, held, end));
          },
        },
      });
      await jobs.insert("a");
      const aborted = new Gate();
      let reason: unknown;
      const worker = await renewing(jobs, 1, async ({ signal }) => {
        signal.addEventListener("abort", () => aborted.open());
        await aborted.opened;
        reason = signal.reason;
      });
      await worker.renew(() => told.length === 1);
      await worker.renew(() => worker.told.includes("returned lost 1"));
      await worker.stop();
      expect(reason).toMatchObject({ code: "LEASE_LOST" });
      const [first, second] = told;
      expect(first?.id).toBe(1n);
      expect(second?.held).toEqual(first?.end);
      for (const { end, held } of told) {
        const added = end.getTime() - held.getTime();
        expect(added).toBeGreaterThan(0);
        expect(added).toBeLessThanOrEqual(LEASE_MS);
      }
    });

    test("33, 62: a transactional handler's own lock keeps its row from the event", async () => {
      let calls = 0;
      const [isolation] = dialect.features.conflictingIsolations ?? [];
      const jobs = await openForm(open, {
        form: "lease",
        ...(isolation && { isolation }),
        custom: {
          extend: async (conn: EventConn, id: bigint, held: Date, end: Date) => {
            calls += 1;
            return await extend(conn, id, held, end);
          },
        },
      });
      await jobs.insert("a");
      const [locked, gate] = [new Gate(), new Gate()];
      const worker = await renewing(
        jobs,
        1,
        async ({ tx }) => {
          await tx.query("SELECT 1");
          locked.open();
          await gate.opened;
        },
        { transactional: true },
      );
      await locked.opened;
      for (let halves = 1; halves <= 5; halves += 1) {
        const { rung } = worker.clock;
        await worker.renew(() => worker.clock.rung > rung);
      }
      gate.open();
      await until(() => worker.told.some((line) => /^(settled|returned)/.test(line)));
      await worker.stop();
      expect(worker.told).toEqual(["claimed 1", "settled ack 1"]);
      expect(calls).toBe(0);
    });
  });

  // Where a transaction that has written is the only one, no row is locked while another's is not.
  forEachTarget({ connections: "many" }, ({ dialect }, open) => {
    const extend = extendOf(dialect.name);

    test("33: a row that a transaction has locked is passed over, and is not lost by that", async () => {
      const calls = new Map<bigint, number>();
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          extend: async (conn: EventConn, id: bigint, held: Date, end: Date) => {
            calls.set(id, (calls.get(id) ?? 0) + 1);
            return await extend(conn, id, held, end);
          },
        },
      });
      await jobs.insert("locked", "free");
      const over = new Gate();
      let isLost = false;
      const worker = await renewing(jobs, 2, async ({ signal }) => {
        signal.addEventListener("abort", () => {
          isLost = true;
        });
        await over.opened;
      });
      const other = await jobs.another().connect();
      await other.begin();
      // Every database locks what it writes, whatever it writes.
      await other.query("UPDATE jobs SET att = att WHERE id = 1");
      await worker.renew(() => calls.get(2n) === 1);
      expect(calls.get(1n)).toBeUndefined();
      expect(isLost).toBe(false);
      await other.rollback();
      await other.release();
      over.open();
      await until(() => worker.told.filter((line) => line.startsWith("settled ack")).length === 2);
      await worker.stop();
    });
  });
});
