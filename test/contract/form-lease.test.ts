import { describe, expect, onTestFinished, test } from "vitest";
import { type OpenedForm, openForm, subscribe } from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

/** Long enough that a busy machine keeps the lease, short enough to wait for. */
const SHORT_LEASE = 1000;

describe("the lease form", () => {
  forEachTarget({ connections: "one" }, (_target, open) => {
    test("30, 36: an acknowledged row is deleted, and no connection is held while its handler runs", async () => {
      const jobs = await openForm(open, { form: "lease" });
      const ids = await jobs.insert("one", "two");
      const source = new WatchedSource(jobs.source);
      const inUse: number[] = [];
      const leased: boolean[] = [];
      const gate = new Gate();
      const worker = subscribe(
        jobs,
        async () => {
          await gate.opened;
          inUse.push(source.inUse);
        },
        { source, pollIntervalMs: 60_000 },
      );
      await until(() => worker.engine.running === 2);
      for (const { attempt, isLeased } of await jobs.rows()) leased.push(isLeased && attempt === 2);
      await until(() => source.inUse === 0);
      gate.open();
      await until(() => worker.told.length === 4);
      await worker.stop();
      expect(inUse).toEqual([0, 0]);
      expect(leased).toEqual([true, true]);
      expect(worker.told.toSorted()).toEqual([
        ...ids.map((id) => `claimed ${id}`),
        ...ids.map((id) => `settled ack ${id}`),
      ]);
      expect(await jobs.rows()).toEqual([]);
    });

    test("36: each verdict becomes true: marked done, due later, at once, moved", async () => {
      const jobs = await openForm(open, { form: "lease", keeps: true });
      const ids = await jobs.insert("ack", "drop", "later", "retry", "dead");
      const worker = subscribe(
        jobs,
        ({ texts: [text], rows: [row] }) => {
          switch (text) {
            case "later":
              return { kind: "retryAfter", delayMs: 3_600_000 };
            case "retry":
              return row?.attempt === "2" ? { kind: "retry" } : undefined;
            case "dead":
              return { kind: "deadLetter", reason: "no use" };
            case "drop":
              return { kind: "drop" };
            default:
              return undefined;
          }
        },
        { slots: 5 },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 6);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([
        { id: ids[0], text: "ack", isDone: true, isLeased: false },
        { id: ids[1], text: "drop", isDone: true, isLeased: false },
        { id: ids[2], text: "later", isDone: false, isLeased: false, isDue: false, attempt: 2 },
        { id: ids[3], text: "retry", isDone: true, isLeased: false, attempt: 3 },
        { text: "dead", group: "dead", isDone: false, isLeased: false },
      ]);
    });

    test("56: of a batch each row is settled by its own verdict", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.insert("a", "b", "c", "d", "e");
      const sizes: number[] = [];
      const worker = subscribe(
        jobs,
        ({ texts }) => {
          sizes.push(texts.length);
          return texts.map((text) =>
            text === "b" ? { kind: "retryAfter", delayMs: 3_600_000 } : { kind: "ack" },
          );
        },
        { batch: 3, slots: 1 },
      );
      await until(async () => (await jobs.rows()).length === 1);
      await worker.stop();
      expect(sizes).toEqual([3, 2]);
      expect(await jobs.rows()).toMatchObject([{ text: "b", isDue: false, isLeased: false }]);
    });

    test("P8, 35: a stop releases what was not started and what it cut off, their attempts given back", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.insert("runs", "waits", "waits");
      const worker = subscribe(
        jobs,
        ({ signal }) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
        { slots: 1, inHand: 3, graceMs: 10 },
      );
      await until(() => worker.engine.running === 1 && worker.engine.waiting === 2);
      expect((await jobs.rows()).map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
      await worker.stop();
      const row = { attempt: 1, isLeased: false, isDue: true };
      expect(await jobs.rows()).toMatchObject([row, row, row]);
      expect(worker.told.filter((line) => line.includes("abandoned"))).toHaveLength(1);
      expect(worker.told.filter((line) => line.includes("unstarted"))).toHaveLength(2);
    });

    test("33: a row that is taken away while its handler runs aborts the signal, and nothing is settled", async () => {
      const jobs = await openForm(open, { form: "lease", max: 3 });
      const [id] = await jobs.insert("a");
      const started = new Gate();
      let reason: unknown;
      const worker = subscribe(
        jobs,
        async ({ signal }) => {
          started.open();
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          reason = signal.reason;
        },
        { leaseMs: SHORT_LEASE, canRenew: true },
      );
      await started.opened;
      const { later, now } = jobs.words;
      await jobs.query(`UPDATE jobs SET att = 7, lease = ${later(now, 3_600_000)}`);
      await until(() => worker.told.includes(`returned lost ${id}`));
      await worker.stop();
      expect(reason).toMatchObject({ code: "LEASE_LOST" });
      expect(await jobs.rows()).toMatchObject([{ attempt: 7, isLeased: true }]);
    });

    test("57, 60: an ack commits what the handler wrote; all else rolls it back", async () => {
      const jobs = await openForm(open, { form: "lease", keeps: true });
      await jobs.insert("ack", "drop", "later", "throw");
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          await tx.query(jobs.effect, [text]);
          if (text === "throw") throw new Error("no");
          if (text === "later") return { kind: "retryAfter", delayMs: 3_600_000 };
          return text === "drop" ? { kind: "drop" } : undefined;
        },
        { transactional: true },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 4);
      await worker.stop();
      expect(await jobs.effects()).toEqual(["ack"]);
      expect(await jobs.rows()).toMatchObject([
        { text: "ack", isDone: true },
        { text: "drop", isDone: true },
        { text: "later", isDone: false, isDue: false, isLeased: false },
        { text: "throw", isDone: false, isDue: false, isLeased: false },
      ]);
    });

    test("57: a batch's writes commit when one of its rows is acknowledged, and the others are settled with them", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.insert("a", "b", "c");
      const worker = subscribe(
        jobs,
        async ({ texts, tx }) => {
          for (const text of texts) await tx.query(jobs.effect, [text]);
          return texts.map((text) =>
            text === "b" ? { kind: "retryAfter", delayMs: 3_600_000 } : { kind: "ack" },
          );
        },
        { transactional: true, batch: 3, slots: 1 },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 3);
      await worker.stop();
      expect(await jobs.effects()).toEqual(["a", "b", "c"]);
      expect(await jobs.rows()).toMatchObject([{ text: "b", isDue: false, isLeased: false }]);
    });
  });

  forEachTarget({ connections: "many" }, (_target, open) => {
    test.each([false, true])(
      "F1, 32: a settlement after another worker took the row changes nothing (transactional: %s)",
      async (transactional) => {
        const jobs = await openForm(open, { form: "lease" });
        const [id] = await jobs.insert("a");
        const first = new Gate();
        const second = new Gate();
        const started = new Gate();
        const a = subscribe(
          jobs,
          async ({ tx }) => {
            started.open();
            if (transactional) await tx.query(jobs.effect, ["by a"]);
            await first.opened;
          },
          // It cannot renew, and does not notice: its signal aborts only after a while.
          { canRenew: false, transactional, leaseMs: 600_000, slots: 1 },
        );
        await started.opened;
        const { later, now } = jobs.words;
        await jobs.query(`UPDATE jobs SET lease = ${later(now, -1)}`);
        const b = subscribe(
          jobs,
          async ({ tx }) => {
            await second.opened;
            if (transactional) await tx.query(jobs.effect, ["by b"]);
          },
          { source: jobs.another(), transactional },
        );
        await until(() => b.engine.running === 1);
        await a.engine.pause();
        first.open();
        await until(() => a.told.includes(`returned lost ${id}`));
        expect(await jobs.rows()).toMatchObject([{ id, isLeased: true, attempt: 3 }]);
        second.open();
        await until(() => b.told.includes(`settled ack ${id}`));
        await Promise.all([a.stop(), b.stop()]);
        expect(await jobs.effects()).toEqual(transactional ? ["by b"] : []);
        expect(await jobs.rows()).toEqual([]);
      },
    );

    test("34: a handler of two and a half leases beside a second worker keeps its row", async () => {
      const jobs = await openForm(open, { form: "lease" });
      const [id] = await jobs.insert("a");
      let calls = 0;
      const handler = async () => {
        calls += 1;
        await timePasses(jobs, 2.5 * SHORT_LEASE);
      };
      const workers = [jobs.source, jobs.another()].map((source) =>
        subscribe(jobs, handler, { source, leaseMs: SHORT_LEASE }),
      );
      await until(async () => (await jobs.rows()).length === 0);
      await Promise.all(workers.map((worker) => worker.stop()));
      expect(calls).toBe(1);
      expect(workers.flatMap(({ told }) => told)).toEqual([`claimed ${id}`, `settled ack ${id}`]);
    });

    test("design 5: acknowledgements that become ready together share statements, and each is told on its own", async () => {
      const jobs = await openForm(open, { form: "lease" });
      const ids = await jobs.insert(...Array.from({ length: 40 }, (_, n) => `${n}`));
      const source = new WatchedSource(jobs.source);
      const gate = new Gate();
      const worker = subscribe(jobs, () => gate.opened, {
        source,
        slots: 40,
        pollIntervalMs: 3_600_000,
      });
      await until(() => worker.engine.running === 40);
      const before = source.connects;
      gate.open();
      await until(() => worker.told.length === 80);
      expect(source.connects - before).toBeLessThanOrEqual(3);
      await worker.stop();
      expect(worker.told.filter((line) => line.startsWith("settled ack"))).toHaveLength(ids.length);
    });

    test("56: one row that cannot be settled costs none of those that are settled with it", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.query(jobs.words.refuse("bad"));
      await jobs.insert("good", "bad", "good", "good");
      const gate = new Gate();
      const worker = subscribe(jobs, () => gate.opened, { leaseMs: 2000 });
      await until(() => worker.engine.running === 4);
      gate.open();
      await until(async () => (await jobs.rows()).length === 1);
      expect(await jobs.rows()).toMatchObject([{ text: "bad", isLeased: true }]);
      // It is tried again while the lease lasts.
      await jobs.query(jobs.words.allow);
      await until(async () => (await jobs.rows()).length === 0);
      await worker.stop();
      expect(worker.told.filter((line) => line.startsWith("returned"))).toEqual([]);
    });

    test("35: a settlement that fails for a whole lease is said, with its event and table, and left to the lease", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.query(jobs.words.refuse("%"));
      const [id] = await jobs.insert("a");
      const worker = subscribe(jobs, () => {}, { leaseMs: SHORT_LEASE });
      await until(() => worker.told.includes(`returned failed ${id}`));
      await worker.stop();
      expect(worker.logger.of("settlement_failed")[0]?.message).toMatch(/"ack".*jobs/);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("T14, T4: a swallowed SQL error and a constraint that fails at COMMIT are failures of the handler", async () => {
      const jobs = await openForm(open, { form: "lease" });
      await jobs.query(
        "CREATE TABLE once (what text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO once VALUES ('a')",
      );
      await jobs.insert("swallows", "collides", "passes");
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          await tx.query(jobs.effect, [text]);
          if (text === "swallows") await tx.query("SELECT 1 / 0").catch(() => {});
          if (text === "collides") await tx.query("INSERT INTO once VALUES ('a')");
        },
        { transactional: true },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 3);
      await worker.stop();
      expect(await jobs.effects()).toEqual(["passes"]);
      expect(worker.failures.map(String).join()).toMatch(/aborted the handler's transaction/);
      expect(worker.failures.map(String).join()).toMatch(/duplicate key/);
      expect(await jobs.rows()).toMatchObject([
        { text: "swallows", isDue: false, isLeased: false },
        { text: "collides", isDue: false, isLeased: false },
      ]);
    });
  });

  forEachSource({ connections: "many" }, (_name, open) => {
    test.each([false, true])(
      "33: a settlement that meets its own extension uses the token that holds (transactional: %s)",
      async (transactional) => {
        const jobs = await openForm(open, { form: "lease", keeps: true });
        // Extensions wait in the middle of their work, with the row locked.
        await jobs.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
          CREATE TRIGGER wait BEFORE UPDATE ON jobs FOR EACH ROW
          WHEN (OLD.lease <> NEW.lease) EXECUTE FUNCTION wait()`);
        const [id] = await jobs.insert("a");
        const blocker = await jobs.another().connect();
        onTestFinished(() => blocker.release());
        await blocker.query("SELECT pg_advisory_lock(1)");
        const handled = new Gate();
        const waiting = () =>
          jobs.query(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          );
        const worker = subscribe(
          jobs,
          async ({ tx }) => {
            if (transactional) await tx.query(jobs.effect, ["a"]);
            await until(async () => (await waiting()).rowCount === 1);
            handled.open();
          },
          { leaseMs: 4000, slots: 1, transactional },
        );
        // The settlement stands behind the extension; in a transaction it is not sent before its end.
        const blocked = transactional ? 1 : 2;
        await handled.opened;
        await until(async () => (await waiting()).rowCount === blocked);
        await blocker.query("SELECT pg_advisory_unlock(1)");
        await until(async () => (await jobs.rows()).every(({ isDone }) => isDone));
        await worker.stop();
        expect(worker.told).toEqual([`claimed ${id}`, `settled ack ${id}`]);
        expect(await jobs.effects()).toEqual(transactional ? ["a"] : []);
      },
    );
  });

  forEachTarget({ connections: "many", form: "rowLock" }, (_target, open) => {
    test.each(["repeatableRead", "serializable"] as const)(
      "62: at %s a handler of several leases commits, and other workers pass its row",
      async (isolation) => {
        const jobs = await openForm(open, { form: "lease", isolation, keeps: true });
        await jobs.insert("slow", "quick", "quick");
        let slow = 0;
        const options = { transactional: true, leaseMs: SHORT_LEASE, slots: 2 };
        const workers = [jobs.source, jobs.another()].map((source) =>
          subscribe(
            jobs,
            async ({ texts: [text], tx }) => {
              const { level } = jobs.words;
              const told = level === undefined ? [] : (await tx.query(level)).rows;
              await tx.query(jobs.effect, [[text, ...told.map((row) => row["level"])].join(" ")]);
              if (text !== "slow") return;
              slow += 1;
              await timePasses(jobs, 2.5 * SHORT_LEASE);
            },
            { ...options, source },
          ),
        );
        await until(async () => (await jobs.rows()).every(({ isDone }) => isDone));
        await Promise.all(workers.map((worker) => worker.stop()));
        const level = isolation === "serializable" ? " serializable" : " repeatable read";
        const told = jobs.words.level === undefined ? "" : level;
        expect((await jobs.effects()).toSorted()).toEqual([
          `quick${told}`,
          `quick${told}`,
          `slow${told}`,
        ]);
        expect(slow).toBe(1);
        expect(workers.flatMap(({ told }) => told.filter((line) => /returned/.test(line)))).toEqual(
          [],
        );
      },
    );
  });
});

/** Waits until the database's clock has gone on by so much. */
async function timePasses(jobs: OpenedForm, ms: number): Promise<void> {
  const { later, now, text, truth } = jobs.words;
  const { rows } = await jobs.query<{ then_: string }>(`SELECT ${text(now)} AS then_`);
  const types: Readonly<Record<string, string>> = {
    postgres: "timestamptz",
    sqlserver: "datetime2",
  };
  const then = `CAST('${rows[0]?.then_}' AS ${types[jobs.dialect] ?? "CHAR(40)"})`;
  await until(async () => {
    const answer = await jobs.query<{ is_over: unknown }>(
      `SELECT ${truth(`${now} > ${later(then, ms)}`)} AS is_over`,
    );
    return Boolean(answer.rows[0]?.is_over);
  });
}
