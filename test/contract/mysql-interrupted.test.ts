import { describe, expect, onTestFinished, test } from "vitest";
import { LeaseJobs, LockJobs, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget, type OpenedSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** Sessions that wait for a lock on a table: those whose statement is an ALTER, or all others. */
async function waiting(
  { query }: Pick<OpenedSource, "query">,
  isAlter: boolean,
): Promise<number | undefined> {
  const { rows } = await query<{ id: number }>(
    `SELECT ID AS id FROM information_schema.PROCESSLIST
     WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table metadata lock'
       AND INFO ${isAlter ? "LIKE" : "NOT LIKE"} 'ALTER%'`,
  );
  return rows[0]?.id;
}

describe("statements that are interrupted on MySQL and MariaDB", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, (_target, open) => {
    test.each([
      ["lease", LeaseJobs],
      ["row lock", LockJobs],
    ] as const)(
      "17, 22: a check of a start that is interrupted is made again, %s",
      async (_form, Jobs) => {
        const db = await openTables(open, [Jobs]);
        const { name } = Jobs.description;
        await Jobs.queue("a").insert(db.source, 1);
        // A reader that does not end, and an ALTER that waits for it: not even PREPARE gets past that.
        const reader = await db.source.connect();
        await reader.begin();
        await reader.query(`SELECT id FROM ${name}`);
        const altered = db.query(`ALTER TABLE ${name} ADD COLUMN more INT NULL`);
        onTestFinished(async () => {
          await reader.rollback();
          await reader.release();
          await altered;
        });
        await until(() => waiting(db, true));
        const { broker, logger } = testBroker(db.source);
        broker.subscribe(Jobs.queue("a"), () => undefined);
        let isStarted = false;
        const started = broker.start().then(() => {
          isStarted = true;
        });
        // Awaited below, unless the test has failed by then.
        started.catch(() => undefined);
        const id = await until(() => waiting(db, false));
        expect(isStarted).toBe(false);
        await db.query(`KILL QUERY ${id}`);
        await until(async () => (await waiting(db, false)) !== id);
        await reader.rollback();
        await started;
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(logger.of("subscription_failed")).toEqual([]);
      },
    );
  });
});
