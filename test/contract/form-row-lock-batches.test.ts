import { describe, expect, test } from "vitest";
import { SettlementError } from "../../src/errors.ts";
import { EFFECT, openForm, subscribe } from "../support/form-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Rows whose text begins with "bad" can be neither deleted nor moved. */
const REFUSE = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.pay LIKE 'bad%' AND (TG_OP = 'DELETE' OR NEW.grp <> OLD.grp) THEN RAISE EXCEPTION 'refused'; END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END $$;
  CREATE TRIGGER refuse BEFORE DELETE OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`;
const ONCE = { slots: 1, transactional: true, pollIntervalMs: 3_600_000 } as const;

describe("transactional batches of the row lock form", () => {
  forEachSource({ connections: "one" }, (_name, open) => {
    test("57, 60: where an acknowledged row cannot be settled, nothing that its batch wrote is kept", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(REFUSE);
      const [a, bad, b] = await jobs.insert("a", "bad", "b");
      const worker = subscribe(
        jobs,
        async ({ texts, tx }) => {
          for (const text of texts) await tx.query(EFFECT, [text]);
        },
        { batch: 3, ...ONCE },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 3);
      await worker.stop();
      expect(worker.told.slice(3).toSorted()).toEqual(
        [a, bad, b].map((id) => `settled retryAfter ${id}`),
      );
      expect(worker.failures).toMatchObject([expect.any(SettlementError)]);
      expect(String(worker.failures[0])).toContain(`"ack" failed on table jobs for row ${bad}`);
      expect(await jobs.effects()).toEqual([]);
      expect(await jobs.rows()).toMatchObject([
        { text: "a", attempt: 2, isDue: false },
        { text: "bad", attempt: 2, isDue: false },
        { text: "b", attempt: 2, isDue: false },
      ]);
    });

    test("56, 57: where another row cannot be settled, the writes and its siblings are", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(REFUSE);
      const [a, bad, later, b] = await jobs.insert("a", "bad", "later", "b");
      const worker = subscribe(
        jobs,
        async ({ texts, tx }) => {
          await tx.query(EFFECT, [texts.join()]);
          return texts.map((text) => {
            if (text === "bad") return { kind: "deadLetter" };
            return text === "later" ? { kind: "retryAfter", delayMs: 3_600_000 } : undefined;
          });
        },
        { batch: 4, ...ONCE },
      );
      await until(() => worker.told.includes(`returned failed ${bad}`));
      await worker.stop();
      expect(worker.told).toContain(`settled ack ${a}`);
      expect(worker.told).toContain(`settled ack ${b}`);
      expect(worker.told).toContain(`settled retryAfter ${later}`);
      // The next claim finds the bad row alone.
      expect((await jobs.effects())[0]).toBe("a,bad,later,b");
      expect(await jobs.rows()).toMatchObject([
        { text: "bad", attempt: 1, group: "a" },
        { text: "later", attempt: 2, isDue: false },
      ]);
    });

    test("T4, 57: a deferred constraint that a batch broke is the handler's failure", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(
        "CREATE TABLE once (what text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO once VALUES ('a')",
      );
      await jobs.insert("a", "b");
      const worker = subscribe(
        jobs,
        async ({ texts, tx }) => {
          for (const text of texts) await tx.query("INSERT INTO once VALUES ($1)", [text]);
        },
        { batch: 2, ...ONCE },
      );
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 2);
      await worker.stop();
      expect(worker.failures.map(String).join()).toMatch(/duplicate key/);
      expect(worker.told.filter((line) => line.startsWith("returned"))).toEqual([]);
      expect((await jobs.query("SELECT what FROM once")).rows).toEqual([{ what: "a" }]);
      expect(await jobs.rows()).toMatchObject([
        { text: "a", attempt: 2, isDue: false },
        { text: "b", attempt: 2, isDue: false },
      ]);
    });
  });
});
