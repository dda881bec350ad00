import { describe, expect, test } from "vitest";
import { type OpenedForm, openForm, subscribe } from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

/** What rows say in these tests. */
const TEXTS = `ack drop later retry dead throw swallows collides a bad good better same other held free`;

/** How many locks the sessions of the test's database hold. */
async function locksIn(jobs: OpenedForm): Promise<number> {
  if (jobs.dialect === "sqlite") {
    const connection = await jobs.another().connect();
    try {
      return [...((await connection.locks?.held()) ?? ["no locks at all"])].length;
    } finally {
      await connection.release();
    }
  }
  if (jobs.dialect === "mysql") {
    // Locks are not listed there: each key is asked for.
    const names = TEXTS.split(" ").map((text) => `CONCAT(DATABASE(), '.key-${text}')`);
    const { rows } = await jobs.query<{ held: unknown }>(
      `SELECT ${names.map((name) => `(IS_USED_LOCK(${name}) IS NOT NULL)`).join(" + ")} AS held`,
    );
    return Number(rows[0]?.held);
  }
  const { locks } = jobs.words;
  if (locks === undefined) throw new Error("no words for the locks that are held");
  return (await jobs.query(locks)).rowCount;
}

describe("the advisory lock form", () => {
  forEachTarget({ connections: "one", form: "advisoryLock" }, (_target, open) => {
    test("41: each verdict becomes true, retry without a statement, and no lock is left behind", async () => {
      const jobs = await openForm(open, { form: "advisoryLock", keeps: true });
      const ids = await jobs.insert("ack", "drop", "later", "retry", "dead", "throw");
      const worker = subscribe(jobs, ({ texts: [text], rows: [row] }) => {
        switch (text) {
          case "later":
            return { kind: "retryAfter", delayMs: 3_600_000 };
          case "retry":
            return row?.attempt === "2" ? { kind: "retry" } : undefined;
          case "dead":
            return { kind: "deadLetter", reason: "no use" };
          case "drop":
            return { kind: "drop" };
          case "throw":
            throw new Error("no");
          default:
            return undefined;
        }
      });
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 7);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([
        { id: ids[0], text: "ack", isDone: true },
        { id: ids[1], text: "drop", isDone: true },
        { id: ids[2], text: "later", isDone: false, isDue: false, attempt: 2 },
        { id: ids[3], text: "retry", isDone: true, attempt: 3 },
        { text: "dead", group: "dead", isDone: false },
        { text: "throw", isDone: false, isDue: false, attempt: 2 },
      ]);
      expect(await locksIn(jobs)).toBe(0);
    });

    test("44: a stop releases every key, gives the attempts back, and says how many locks it released", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      const source = new WatchedSource(jobs.source);
      await jobs.insert("a");
      const worker = subscribe(
        jobs,
        ({ signal }) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
        // Full, so that no claim is on its way that would meet the row again.
        { source, graceMs: 10, slots: 1 },
      );
      await until(() => worker.engine.running === 1);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([{ attempt: 1, isDue: true }]);
      expect(await locksIn(jobs)).toBe(0);
      expect(source.inUse).toBe(0);
      expect(worker.logger.of("locks_released")).toMatchObject([
        { fields: { released: 1, closed: 0 } },
      ]);
    });

    test("27: a settlement that fails is said, and its key is released", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.query(jobs.words.refuse("bad"));
      const [bad] = await jobs.insert("bad", "good", "better");
      const worker = subscribe(jobs, () => {}, { batch: 3, slots: 1 });
      await until(() => worker.told.includes(`returned failed ${bad}`));
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([{ id: bad }]);
      expect(worker.logger.of("settlement_failed")[0]?.message).toMatch(/"ack".*jobs/);
      expect(await locksIn(jobs)).toBe(0);
    });
  });

  forEachTarget({ connections: "many", form: "advisoryLock" }, (_target, open) => {
    test("38: rows with one key are in work one at a time across workers", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.insert("same", "same", "same", "other");
      let running = 0;
      let most = 0;
      const handler = async ({ texts: [text] }: { texts: readonly string[] }) => {
        if (text !== "same") return;
        running += 1;
        most = Math.max(most, running);
        const looks = watched.connects;
        // The others look for rows meanwhile.
        await until(() => watched.connects > looks + 3);
        running -= 1;
      };
      const watched = new WatchedSource(jobs.another());
      const workers = [jobs.source, watched].map((source) => subscribe(jobs, handler, { source }));
      await until(async () => (await jobs.rows()).length === 0);
      await Promise.all(workers.map((worker) => worker.stop()));
      expect(most).toBe(1);
      expect(await locksIn(jobs)).toBe(0);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("61: an ack commits what the handler wrote; all else rolls it back first", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.query(
        "CREATE TABLE once (what text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO once VALUES ('a')",
      );
      await jobs.insert("ack", "later", "throw", "swallows", "collides");
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          await tx.query(jobs.effect, [text]);
          if (text === "throw") throw new Error("no");
          if (text === "later") return { kind: "retryAfter", delayMs: 3_600_000 };
          if (text === "swallows") await tx.query("SELECT 1 / 0").catch(() => {});
          if (text === "collides") await tx.query("INSERT INTO once VALUES ('a')");
          return undefined;
        },
        { transactional: true },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 5);
      await worker.stop();
      expect(await jobs.effects()).toEqual(["ack"]);
      const row = { isDue: false, attempt: 2 };
      expect(await jobs.rows()).toMatchObject([row, row, row, row]);
      expect(await locksIn(jobs)).toBe(0);
    });

    test("T5: a settlement that the database asks to try again is tried again, on the same session", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.query(`CREATE SEQUENCE tries;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('tries') < 4 THEN RAISE EXCEPTION 'in trouble' USING ERRCODE = '40P01'; END IF;
          RETURN OLD;
        END $$;
        CREATE TRIGGER fail BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION fail()`);
      const [id] = await jobs.insert("a");
      const worker = subscribe(jobs, () => {});
      await until(() => worker.told.length === 2);
      await worker.stop();
      expect(worker.told).toEqual([`claimed ${id}`, `settled ack ${id}`]);
    });
  });

  forEachSource({ connections: "many" }, (name, open) => {
    test("41: a release that is not confirmed closes the connection", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.insert("a");
      const pids = new Set<unknown>();
      const worker = subscribe(
        jobs,
        async ({ tx }) => {
          const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
          pids.add(rows[0]?.pid);
          await tx.query("SELECT pg_advisory_unlock_all()");
        },
        { transactional: true, slots: 1 },
      );
      await until(async () => (await jobs.rows()).length === 0);
      // A source that ignores the error keeps the session; it is up to it.
      if (name === "handmade") return;
      await until(async () => {
        const alive = await jobs.query("SELECT FROM pg_stat_activity WHERE pid = ANY ($1::int[])", [
          [...pids],
        ]);
        return alive.rowCount === 0;
      });
      await worker.stop();
      expect(pids.size).toBe(1);
    });
  });

  forEachTarget({ connections: "many", form: "advisoryLock" }, (_target, open) => {
    test("S1, S10: a session that dies frees its key at once; until then every other key flows", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      const [id, , free] = await jobs.insert("held", "held", "free");
      const gate = new Gate();
      const worker = subscribe(jobs, () => gate.opened, { slots: 1, pollIntervalMs: 3_600_000 });
      await until(() => worker.engine.running === 1);
      const other = subscribe(jobs, () => {}, { source: jobs.another() });
      await until(() => other.told.includes(`settled ack ${free}`));
      expect(await jobs.rows()).toHaveLength(2);
      await jobs.endSessions({ holding: "key-held" });
      await until(async () => (await jobs.rows()).length === 0);
      gate.open();
      await until(() => worker.told.some((line) => line.startsWith("returned")));
      await Promise.all([worker.stop(), other.stop()]);
      expect(worker.told).toEqual([`claimed ${id}`, `returned lost ${id}`]);
      expect(await locksIn(jobs)).toBe(0);
    });

    test("F14: all sessions are ended twice during 200 transactional jobs, and there are 200 effects", async () => {
      const jobs = await openForm(open, { form: "advisoryLock" });
      await jobs.insert(...Array.from({ length: 200 }, (_, n) => String(n)));
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          await tx.query(jobs.effect, [text]);
        },
        { transactional: true, onFailure: { kind: "retry" } },
      );
      for (const left of [140, 70]) {
        await until(async () => (await jobs.rows()).length <= left);
        await jobs.endSessions();
      }
      await until(async () => (await jobs.rows()).length === 0);
      await worker.stop();
      const effects = await jobs.effects();
      expect(effects).toHaveLength(200);
      expect(new Set(effects).size).toBe(200);
      expect(await locksIn(jobs)).toBe(0);
    });
  });
});
