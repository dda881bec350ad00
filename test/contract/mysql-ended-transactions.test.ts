import { describe, expect, test } from "vitest";
import { openForm, subscribe } from "../support/form-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Ends the caller's transaction with an error that nobody is to try again after; `meanwhile` commits by itself. */
function giveUp(meanwhile = ""): string {
  return `CREATE PROCEDURE give_up() BEGIN
    ROLLBACK;
    ${meanwhile}
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nothing works';
  END`;
}

describe("rows whose transaction has ended before they were settled", () => {
  forEachTarget({ connections: "many", dialect: "mysql", form: "rowLock" }, (_target, open) => {
    test("27: those that are as they were are settled by the policy, and the others are left as they are", async () => {
      const jobs = await openForm(open, { form: "rowLock" });
      await jobs.query(
        giveUp(`DELETE FROM jobs WHERE pay = 'gone';
          UPDATE jobs SET att = 7, due = NOW() + INTERVAL 1 HOUR WHERE pay = 'later';
          UPDATE jobs SET att = 7 WHERE pay = 'counted';
          UPDATE jobs SET pay = 'new' WHERE pay = 'old';`),
      );
      const ids = await jobs.insert("a", "gone", "later", "counted", "old", "b");
      const worker = subscribe(
        jobs,
        async ({ texts, tx }) => {
          await tx.query(jobs.effect, [texts.join()]);
          if (texts.includes("a")) await tx.query("CALL give_up()");
        },
        { batch: 6, slots: 1, transactional: true },
      );
      await until(() => worker.told.includes(`settled ack ${ids[4]}`));
      await worker.stop();
      expect(worker.told.slice(6, 12).toSorted()).toEqual(
        [
          ...ids.slice(1, 5).map((id) => `returned failed ${id}`),
          `settled retryAfter ${ids[0]}`,
          `settled retryAfter ${ids[5]}`,
        ].toSorted(),
      );
      expect(await jobs.effects()).toEqual(["counted,new"]);
      expect(await jobs.rows()).toMatchObject([
        { text: "a", attempt: 2, isDue: false },
        { text: "later", attempt: 7, isDue: false },
        { text: "b", attempt: 2, isDue: false },
      ]);
      expect(worker.logger.of("redelivered")).toHaveLength(1);
    });

    test("27, 45: the head of a fifo group is taken again, and its group goes on behind it", async () => {
      const jobs = await openForm(open, { form: "rowLock", fifo: "fifo" });
      await jobs.query(giveUp());
      const [bad, good] = await jobs.insert("bad", "good");
      const worker = subscribe(
        jobs,
        async ({ texts: [text], tx }) => {
          if (text === "bad") await tx.query("CALL give_up()");
        },
        // One slot: another's claim could have the head first, between the two transactions.
        {
          slots: 1,
          transactional: true,
          onFailure: { kind: "deadLetter", reason: "no use" },
        },
      );
      await until(() => worker.told.includes(`settled ack ${good}`));
      await worker.stop();
      expect(worker.told).toEqual([
        `claimed ${bad}`,
        `settled deadLetter ${bad}`,
        `claimed ${good}`,
        `settled ack ${good}`,
      ]);
      expect(await jobs.rows()).toMatchObject([{ text: "bad", group: "dead" }]);
    });
  });
});
