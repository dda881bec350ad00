import { describe, expect, test } from "vitest";
import { type EventConn, eventWordsOf } from "../support/event-words.ts";
import { openForm, subscribe } from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Long enough for a busy machine to extend it in time. */
const LEASE_MS = 3000;

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
      const worker = subscribe(
        jobs,
        async ({ signal, texts: [text] }) => {
          if (text === "goes on") await until(() => (calls.get(2n) ?? 0) >= 4 || signal.aborted);
          else await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
        { leaseMs: LEASE_MS },
      );
      await until(() => worker.told.includes("settled ack 2"), { deadline: 20_000 });
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
      const worker = subscribe(jobs, async () => void (await until(() => calls >= 4)), {
        leaseMs: LEASE_MS,
      });
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
      const worker = subscribe(
        jobs,
        async ({ signal }) => {
          signal.addEventListener("abort", () => aborted.open());
          await aborted.opened;
          reason = signal.reason;
        },
        { leaseMs: LEASE_MS },
      );
      await until(() => worker.told.includes("returned lost 1"));
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
      const worker = subscribe(
        jobs,
        async ({ tx }) => {
          await tx.query("SELECT 1");
          const over = performance.now() + 1200;
          await until(() => performance.now() > over);
        },
        { leaseMs: 500, transactional: true },
      );
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
      const running = new Gate();
      const over = new Gate();
      let isLost = false;
      const worker = subscribe(
        jobs,
        async ({ signal, texts: [text] }) => {
          signal.addEventListener("abort", () => {
            isLost = true;
          });
          if (text === "locked") running.open();
          await over.opened;
        },
        { leaseMs: 4000 },
      );
      await running.opened;
      const other = await jobs.another().connect();
      await other.begin();
      const { skipLocked, skipLockedHint } = eventWordsOf(dialect.name);
      await other.query(`SELECT id FROM jobs ${skipLockedHint} WHERE id = 1 ${skipLocked}`);
      await until(() => calls.get(2n) === 1);
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
