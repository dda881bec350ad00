import { describe, expect, test } from "vitest";
import type { FormName } from "../../src/table/description.ts";
import { openForm, subscribe } from "../support/form-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("two workers on one table", () => {
  forEachTarget({ connections: "one writer" }, (target, open) => {
    const both: readonly [FormName, boolean][] = [
      ["rowLock", false],
      ["rowLock", true],
      ["lease", false],
      ["lease", true],
      ["advisoryLock", false],
      ["advisoryLock", true],
    ];
    test.each(both.filter(([form]) => target.dialect.features.forms.includes(form)))(
      "18: %s (transactional: %s): 200 rows go out exactly once each",
      async (form, transactional) => {
        const jobs = await openForm(open, { form });
        await jobs.query(series(200));
        const seen: string[] = [];
        const workers = [jobs.source, jobs.another()].map((source) =>
          subscribe(
            jobs,
            async ({ texts: [text = ""], tx }) => {
              seen.push(text);
              if (transactional) await tx.query(jobs.effect, [text]);
            },
            { source, transactional },
          ),
        );
        await until(async () => (await jobs.rows()).length === 0);
        await Promise.all(workers.map((worker) => worker.stop()));
        expect(seen).toHaveLength(200);
        expect(new Set(seen).size).toBe(200);
        expect(await jobs.effects()).toHaveLength(transactional ? 200 : 0);
        const told = workers.flatMap((worker) => worker.told);
        expect(told.filter((line) => line.startsWith("settled ack"))).toHaveLength(200);
      },
    );

    const fifo: readonly FormName[] = ["rowLock", "lease"];
    test.each(fifo.filter((form) => target.dialect.features.forms.includes(form)))(
      "45: %s: a fifo group has one row in work, and its rows go out in order, also with late ones between",
      async (form) => {
        const jobs = await openForm(open, { form, fifo: "fifo", keeps: true });
        await jobs.query(series(40));
        let running = 0;
        let most = 0;
        const order: number[] = [];
        const workers = [jobs.source, jobs.another()].map((source) =>
          subscribe(
            jobs,
            async ({ texts: [text] }) => {
              running += 1;
              most = Math.max(most, running);
              await jobs.query("SELECT 1");
              order.push(Number(text));
              running -= 1;
            },
            { source, slots: 3 },
          ),
        );
        await until(async () => (await jobs.rows()).every(({ isDone }) => isDone), {
          deadline: 40_000,
        });
        await Promise.all(workers.map((worker) => worker.stop()));
        expect(most).toBe(1);
        expect(order).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
        expect(workers.flatMap(({ told }) => told).filter((line) => /returned/.test(line))).toEqual(
          [],
        );
      },
    );
  });
});

/** Rows of the texts 1 to \`n\`. */
function series(n: number): string {
  const texts = Array.from({ length: n }, (_, at) => `('${at + 1}')`);
  return `INSERT INTO jobs (pay) VALUES ${texts.join(", ")}`;
}
