import { describe, expect, test } from "vitest";
import { openForm, subscribe } from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

describe("the row lock form", () => {
  forEachTarget({ connections: "one", form: "rowLock" }, (_target, open) => {
    test("26: ack and drop mark or delete; retry, retry after and dead letter count the attempt or move", async () => {
      const jobs = await openForm(open, { form: "rowLock", keeps: true });
      const ids = await jobs.insert("ack", "drop", "later", "retry", "dead");
      const worker = subscribe(jobs, ({ texts: [text], rows: [row] }) => {
        switch (text) {
          case "later":
            return { kind: "retryAfter", delayMs: 3_600_000 };
          case "retry":
            return row?.attempt === "1" ? { kind: "retry" } : undefined;
          case "dead":
            return { kind: "deadLetter", reason: "no use" };
          case "drop":
            return { kind: "drop" };
          default:
            return undefined;
        }
      });
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 6);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([
        { id: ids[0], text: "ack", isDone: true, attempt: 1 },
        { id: ids[1], text: "drop", isDone: true, attempt: 1 },
        { id: ids[2], text: "later", isDone: false, isDue: false, attempt: 2 },
        { id: ids[3], text: "retry", isDone: true, attempt: 2 },
        { text: "dead", group: "dead", isDone: false, attempt: 1 },
      ]);
    });

    test("26: without an attempt column a retry is a rollback", async () => {
      const jobs = await openForm(open, { form: "rowLock", counts: false });
      const [id] = await jobs.insert("a");
      let calls = 0;
      const worker = subscribe(jobs, () => {
        calls += 1;
        return calls < 3 ? { kind: "retry" } : undefined;
      });
      await until(async () => worker.told.includes(`settled ack ${id}`));
      await worker.stop();
      expect(calls).toBe(3);
      expect(worker.told.filter((line) => line === `settled retry ${id}`)).toHaveLength(2);
      expect(await jobs.rows()).toEqual([]);
    });

    test("27: a settlement that fails is said with its event and table, and the row is claimable at once", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(jobs.words.refuse("bad%"));
      const [id] = await jobs.insert("bad");
      const worker = subscribe(jobs, () => {});
      await until(() => worker.told.filter((line) => line === `returned failed ${id}`).length > 1);
      expect(worker.logger.of("settlement_failed")[0]?.message).toMatch(/"ack".*jobs/);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([{ attempt: 1, isDue: true }]);
    });

    test("56: one failing settlement of a batch does not undo its siblings", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(jobs.words.refuse("bad%"));
      const [, bad] = await jobs.insert("a", "bad", "b", "c");
      const worker = subscribe(
        jobs,
        ({ texts }) =>
          texts.map((text) =>
            text === "c" ? { kind: "retryAfter", delayMs: 3_600_000 } : { kind: "ack" },
          ),
        { batch: 4, slots: 1 },
      );
      await until(() => worker.told.includes(`returned failed ${bad}`));
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([
        { text: "bad", attempt: 1, isDue: true },
        { text: "c", attempt: 2, isDue: false },
      ]);
    });

    test("60, 61: an ack commits what the handler wrote; all else rolls it back, and still settles", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
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
        { text: "later", isDue: false, attempt: 2 },
        { text: "throw", isDue: false, attempt: 2 },
      ]);
    });

    test("63: a handler that would end its transaction gets an error, and nothing is settled as done", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.insert("COMMIT", "ROLLBACK");
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          await tx.query(jobs.effect, [text]);
          await tx.query(String(text));
        },
        { transactional: true },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 2);
      await worker.stop();
      expect(worker.failures.map(String).sort().join()).toMatch(
        /COMMIT is refused.*ROLLBACK is refused/,
      );
      expect(await jobs.effects()).toEqual([]);
      expect(await jobs.rows()).toMatchObject([{ isDue: false }, { isDue: false }]);
    });

    test("7: a stop rolls back what it cut off, and spends no attempt", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.insert("a");
      let hasWritten = false;
      const worker = subscribe(
        jobs,
        async ({ signal, tx }) => {
          await tx.query(jobs.effect, ["a"]);
          hasWritten = true;
          await new Promise<void>((resolve) => {
            if (signal.aborted) resolve();
            else signal.addEventListener("abort", () => resolve());
          });
        },
        { transactional: true, graceMs: 10 },
      );
      await until(() => hasWritten);
      await worker.stop();
      expect(await jobs.rows()).toMatchObject([{ attempt: 1, isDue: true }]);
      expect(await jobs.effects()).toEqual([]);
      expect(worker.told).toContainEqual(expect.stringMatching(/^returned abandoned/));
    });

    test("an empty queue keeps no connection", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      const source = new WatchedSource(jobs.source);
      const worker = subscribe(jobs, () => {}, { source });
      await until(() => source.connects > 3);
      await until(() => source.inUse === 0);
      await worker.stop();
      expect(source.inUse).toBe(0);
    });
  });

  forEachTarget({ connections: "many", form: "rowLock" }, (_target, open) => {
    test("25: the row is locked while its handler runs, and other workers pass it", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      const [first, second] = await jobs.insert("slow", "quick");
      const gate = new Gate();
      const slow = subscribe(jobs, () => gate.opened, { slots: 1 });
      await until(() => slow.engine.running === 1);
      const quick = subscribe(jobs, () => {}, { source: jobs.another(), slots: 1 });
      await until(() => quick.told.includes(`settled ack ${second}`));
      expect(await jobs.rows()).toMatchObject([{ id: first, attempt: 1 }]);
      gate.open();
      await until(() => slow.told.includes(`settled ack ${first}`));
      await Promise.all([slow.stop(), quick.stop()]);
      expect(quick.told).toEqual([`claimed ${second}`, `settled ack ${second}`]);
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("T5, 27: a deadlock in a settlement is a redelivery, and no failed attempt", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(`CREATE TABLE trouble (code text); INSERT INTO trouble VALUES ('40P01');
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE code text;
        BEGIN
          SELECT t.code INTO code FROM trouble AS t;
          IF code IS NOT NULL THEN RAISE EXCEPTION 'in trouble' USING ERRCODE = code; END IF;
          RETURN OLD;
        END $$;
        CREATE TRIGGER fail BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION fail()`);
      const [id] = await jobs.insert("a");
      const worker = subscribe(jobs, () => {});
      await until(() => worker.logger.of("redelivered").length > 1);
      expect(await jobs.rows()).toMatchObject([{ attempt: 1 }]);
      await jobs.query("DELETE FROM trouble");
      await until(() => worker.told.includes(`settled ack ${id}`));
      await worker.stop();
      expect(worker.failures).toEqual([]);
      expect(worker.logger.of("settlement_failed")).toEqual([]);
    });

    test("T14, T4: a swallowed SQL error and a deferred constraint are the handler's failures, settled in the same transaction", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
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
        { text: "swallows", isDue: false, attempt: 2 },
        { text: "collides", isDue: false, attempt: 2 },
      ]);
      expect(worker.told.filter((line) => line.startsWith("returned"))).toEqual([]);
    });
  });

  forEachTarget({ connections: "many", form: "rowLock" }, (_target, open) => {
    test("S1, 25: rows of a session that dies are back at once, and no attempt is spent", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      const [id] = await jobs.insert("a");
      const gate = new Gate();
      const worker = subscribe(jobs, () => gate.opened, { slots: 1, pollIntervalMs: 3_600_000 });
      await until(() => worker.engine.running === 1);
      await jobs.endSessions("in transactions");
      const other = subscribe(jobs, ({ rows }) => void expect(rows[0]?.attempt).toBe("1"), {
        source: jobs.another(),
      });
      await until(() => other.told.includes(`settled ack ${id}`));
      gate.open();
      await until(() => worker.told.some((line) => line.startsWith("returned")));
      await Promise.all([worker.stop(), other.stop()]);
      expect(worker.told).toEqual([`claimed ${id}`, `returned lost ${id}`]);
      expect(await jobs.rows()).toEqual([]);
    });

    test("F14, T13: all sessions are ended twice during 200 transactional jobs, and there are 200 effects", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
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
    });
  });
});
