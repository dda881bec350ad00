import { describe, expect, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { type EventConn, eventWordsOf } from "../support/event-words.ts";
import { openForm, subscribe } from "../support/form-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget, type Target } from "../support/sources.ts";
import { until } from "../support/until.ts";

interface Request {
  readonly group: string;
  readonly limit: number;
}

/** All at once, in one handler call. */
const TOGETHER = { batch: 10, slots: 1 };

/** Advisory locks go by keys, and take no claim. */
function formsOf({ dialect }: Target): FormName[] {
  return dialect.features.forms.filter((form) => form !== "advisoryLock");
}

const ANSWERS: readonly {
  readonly form: FormName;
  readonly answer: unknown;
  readonly why: string;
}[] = [
  { form: "lease", answer: undefined, why: "it answers a list of ids, not undefined" },
  { form: "rowLock", answer: "1", why: 'it answers a list of ids, not "1"' },
  { form: "lease", answer: [null], why: "an id is a whole number or its text, not null" },
  { form: "rowLock", answer: [{ id: 1 }], why: "an id is a whole number or its text, not" },
  { form: "lease", answer: [1.5], why: "an id is a whole number or its text, not 1.5" },
  { form: "rowLock", answer: ["one"], why: 'an id is a whole number or its text, not "one"' },
  { form: "lease", answer: [2 ** 60], why: "an id is a whole number or its text, not" },
  {
    form: "lease",
    answer: Array.from({ length: 11 }, (_, n) => n),
    why: "it was to claim 10 rows and named 11",
  },
];

describe("claims of the service's own", () => {
  forEachTarget({ connections: "one" }, (target, open) => {
    const forms = formsOf(target);

    test.each(forms)(
      "66: %s: what cannot be claimed is left out, whatever the event names",
      async (form) => {
        const jobs = await openForm(open, {
          form,
          keeps: true,
          custom: {
            claim: async (conn: EventConn) => {
              const { rows } = await conn.query<{ id: unknown }>("SELECT id FROM jobs ORDER BY id");
              return [...rows.map(({ id }) => id), "999"];
            },
          },
        });
        const { now } = jobs.words;
        const anHour = jobs.words.later(now, 3_600_000);
        const texts = ["other group", "done", "later", "claimable", "leased"];
        const [other, done, later, claimable, leased] = await jobs.insert(...texts);
        await jobs.query(`UPDATE jobs SET grp = 'b' WHERE id = ${other}`);
        await jobs.query(`UPDATE jobs SET done = ${now} WHERE id = ${done}`);
        await jobs.query(`UPDATE jobs SET due = ${anHour} WHERE id = ${later}`);
        await jobs.query(`UPDATE jobs SET lease = ${anHour} WHERE id = ${leased}`);
        const worker = subscribe(jobs, () => {}, TOGETHER);
        await until(() => worker.told.includes(`settled ack ${claimable}`));
        await worker.stop();
        const claimed = form === "lease" ? [claimable] : [claimable, leased];
        expect(worker.told.filter((line) => line.startsWith("claimed"))).toEqual(
          claimed.map((id) => `claimed ${id}`),
        );
        const untouched = (await jobs.rows()).filter(({ id }) => !claimed.includes(id));
        expect(untouched.map(({ attempt }) => attempt)).toEqual(untouched.map(() => 1));
      },
    );

    test.each(forms)("66: %s: rows go out in the event's order, each once", async (form) => {
      const asked: Request[] = [];
      const jobs = await openForm(open, {
        form,
        custom: {
          claim: async (_conn: EventConn, request: Request) => {
            asked.push(request);
            return asked.length === 1 ? [3, "1", 2n, 3n] : [];
          },
        },
      });
      await jobs.insert("one", "two", "three");
      const seen: string[] = [];
      const worker = subscribe(jobs, ({ texts }) => void seen.push(...texts), TOGETHER);
      await until(() => worker.told.filter((line) => line.startsWith("settled")).length === 3);
      await worker.stop();
      expect(seen).toEqual(["three", "one", "two"]);
      expect(asked[0]).toEqual({ group: "a", limit: 10 });
    });

    test.each(ANSWERS.filter(({ form }) => forms.includes(form)))(
      "67: $form: an answer of the wrong shape fails the claim: $why",
      async (each) => {
        let calls = 0;
        const jobs = await openForm(open, {
          form: each.form,
          custom: {
            claim: async () => {
              calls += 1;
              return calls === 1 ? each.answer : [1];
            },
          },
        });
        const [id] = await jobs.insert("a");
        const attempts: unknown[] = [];
        const worker = subscribe(
          jobs,
          ({ rows: [row] }) => void attempts.push(row?.attempt),
          TOGETHER,
        );
        await until(() => worker.told.includes(`settled ack ${id}`));
        await worker.stop();
        const error = String(worker.logger.of("claim_failed")[0]?.fields.error);
        expect(error).toContain(`the event "claim" of jobs failed: ${each.why}`);
        expect(attempts).toEqual([each.form === "lease" ? "2" : "1"]);
      },
    );

    test.each(forms)(
      "67: %s: it cannot end the transaction, nor query when it has answered",
      async (form) => {
        let late: EventConn | undefined;
        let calls = 0;
        const jobs = await openForm(open, {
          form,
          custom: {
            claim: async (conn: EventConn) => {
              calls += 1;
              if (calls === 1) {
                await conn.query("INSERT INTO effects (what) VALUES ('committed')");
                await conn.query("COMMIT");
              }
              // Not awaited: it is under way when the event answers, and is waited for.
              void conn.query("INSERT INTO effects (what) VALUES ('waited for')");
              late = conn;
              return [1];
            },
          },
        });
        const [id] = await jobs.insert("a");
        const failed: unknown[] = [];
        const worker = subscribe(
          jobs,
          async () => {
            await late?.query("SELECT 1").catch((error) => failed.push(error));
          },
          TOGETHER,
        );
        await until(() => worker.told.includes(`settled ack ${id}`));
        await worker.stop();
        expect(String(worker.logger.of("claim_failed")[0]?.fields.error)).toContain(
          'the event "claim" of jobs failed: COMMIT is refused here',
        );
        expect(String(failed[0])).toContain("the event has answered");
        expect([...new Set(await jobs.effects())]).toEqual(["waited for"]);
      },
    );
  });

  forEachTarget({ connections: "one writer" }, (target, open) => {
    const { limit: limited, random } = eventWordsOf(target.dialect.name);

    test.each(formsOf(target))(
      "45: %s: a fifo group has one row in work, whatever a claim of its own names",
      async (form) => {
        const jobs = await openForm(open, {
          form,
          fifo: "fifo",
          custom: {
            claim: async (conn: EventConn, { limit }: Request) => {
              const { rows } = await conn.query<{ id: unknown }>(
                `SELECT id FROM jobs ORDER BY ${random} ${limited(1)}`,
                [String(limit)],
              );
              return rows.map(({ id }) => id);
            },
          },
        });
        await jobs.insert(..."abcdefghij");
        let running = 0;
        let most = 0;
        const work = async () => {
          running += 1;
          most = Math.max(most, running);
          for (let n = 0; n < 3; n += 1) await jobs.query("SELECT 1");
          running -= 1;
        };
        const first = subscribe(jobs, work);
        const second = subscribe({ ...jobs, source: jobs.another() }, work);
        await until(async () => (await jobs.rows()).length === 0, { deadline: 30_000 });
        await Promise.all([first.stop(), second.stop()]);
        expect(most).toBe(1);
        const settled = [...first.told, ...second.told].filter((line) =>
          line.startsWith("settled ack"),
        );
        expect(settled).toHaveLength(10);
      },
    );
  });

  // With one writer nobody changes a row between the event's look and the claim's.
  forEachTarget({ connections: "many", form: "lease" }, (_target, open) => {
    test("66: lease: a row that another took or delayed since the event looked is left out", async () => {
      const looked = new Gate();
      const changed = new Gate();
      let calls = 0;
      const jobs = await openForm(open, {
        form: "lease",
        custom: {
          claim: async (conn: EventConn) => {
            const { rows } = await conn.query<{ id: unknown }>(
              "SELECT id FROM jobs WHERE lease IS NULL AND due IS NULL ORDER BY id",
            );
            calls += 1;
            looked.open();
            await changed.opened;
            return rows.map(({ id }) => id);
          },
        },
      });
      const [taken, delayed, free] = await jobs.insert("taken", "delayed", "free");
      const worker = subscribe(jobs, () => {}, TOGETHER);
      const anHour = jobs.words.later(jobs.words.now, 3_600_000);
      await looked.opened;
      await jobs.query(`UPDATE jobs SET lease = ${anHour} WHERE id = ${taken}`);
      await jobs.query(`UPDATE jobs SET due = ${anHour} WHERE id = ${delayed}`);
      changed.open();
      await until(() => worker.told.includes(`settled ack ${free}`));
      await until(() => calls > 1);
      await worker.stop();
      expect(worker.told).toEqual([`claimed ${free}`, `settled ack ${free}`]);
      expect(await jobs.rows()).toMatchObject([
        { id: taken, attempt: 1, isLeased: true },
        { id: delayed, attempt: 1, isDue: false },
      ]);
    });
  });
});
