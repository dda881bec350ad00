import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { HandlerFacade } from "../../src/form/handler-transaction.ts";
import { hasMethods } from "../../src/options.ts";
import { drop, retryAfter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { fitting, openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id().generated(),
  due: c.timestamp().retryAfter().nullable(),
  attempt: c.integer().attempt().generated(),
  payload: c.json().payload(),
};
const TABLES = [
  { form: "row lock", Jobs: inboxTable("lock_jobs", { columns }) },
  {
    form: "lease",
    Jobs: inboxTable("lease_jobs", {
      columns: { ...columns, lease: c.timestamp().lockedUntil().nullable() },
    }),
  },
  {
    form: "advisory lock",
    Jobs: inboxTable("advisory_jobs", { columns, advisoryLock: "job-{id}" }),
  },
] as const;

type Run = (tx: HandlerFacade, text: string, params: readonly unknown[]) => Promise<unknown>;

/** The handler's own queries, and those of an ORM. */
const WAYS: Readonly<Record<string, Run>> = {
  "tx.query": (tx, text, params) => tx.query(text, params),
  "tx.client": async (tx, text, params) => {
    if (!hasMethods(tx.client, ["query"])) throw new Error("it has no client");
    return await tx.client.query(text, params);
  },
};

const TOTALS = "CREATE TABLE totals (n INT PRIMARY KEY, seen INT NOT NULL) ENGINE = InnoDB";

describe("transactions that MySQL and MariaDB end", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, (target, open) => {
    for (const { form, Jobs } of fitting(target, TABLES)) {
      test.each(Object.entries(WAYS))(
        `27, 63, ${form}: a deadlock that the handler swallowed commits nothing, and spends no attempt: by %s`,
        async (_way, run) => {
          const db = await openTables(open, [Jobs], { max: 8 });
          await db.query(TOTALS);
          await db.query("INSERT INTO totals VALUES (1, 0), (2, 0)");
          const { broker, logger } = testBroker(db.source);
          const both = new Gate();
          const late: unknown[] = [];
          let calls = 0;
          let waiting = 0;
          broker.subscribe(Jobs.queue(), { workers: 2, transactional: true }, async (n, { tx }) => {
            calls += 1;
            await run(tx, "UPDATE totals SET seen = seen + 1 WHERE n = ?", [n]);
            waiting += 1;
            if (waiting === 2) both.open();
            await both.opened;
            await run(tx, "UPDATE totals SET seen = seen + 1 WHERE n = ?", [3 - Number(n)]).catch(
              () => undefined,
            );
            // Of the one that the deadlock chose this would commit by itself.
            await run(tx, db.effect, [String(n)]).catch(async (error: unknown) => {
              late.push(error);
              await expect(tx.query("SELECT 1")).rejects.toThrow(
                "rolled the handler's transaction",
              );
            });
          });
          await Jobs.queue().insert(db.source, [1, 2]);
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 2);
          expect(calls).toBe(3);
          expect((await db.effects()).toSorted()).toEqual(["1", "2"]);
          expect((await db.query("SELECT n, seen FROM totals ORDER BY n")).rows).toEqual([
            { n: 1, seen: 2 },
            { n: 2, seen: 2 },
          ]);
          expect(late.map(String)).toEqual([
            expect.stringContaining("has rolled the handler's transaction back"),
          ]);
          expect(logger.of("redelivered")).toHaveLength(1);
          expect(logger.of("retried")).toEqual([]);
        },
      );

      test(`63, ${form}: a statement that commits unsaid is an error, and nothing is settled as done`, async () => {
        const db = await openTables(open, [Jobs]);
        const { broker, logger } = testBroker(db.source);
        let calls = 0;
        broker.subscribe(
          Jobs.queue(),
          { transactional: true, onFailure: { throw: drop() } },
          async (_, { tx }) => {
            calls += 1;
            await tx.query(db.effect, ["before"]);
            await tx.query(`CREATE TABLE IF NOT EXISTS made_${calls} (n INT)`);
            await tx.query(db.effect, ["after"]);
          },
        );
        await Jobs.queue().insert(db.source, 1);
        await broker.start();
        const said = () =>
          [...logger.of("dropped"), ...logger.of("settlement_failed")].map(({ fields }) =>
            String(fields.error),
          );
        await until(() => said().length > 0);
        const { rows: left } = await db.query(`SELECT id FROM ${Jobs.description.name}`);
        expect(said()[0]).toContain("a statement of the handler ended its transaction");
        expect(broker.stats()[0]?.settled.ack).toBe(0);
        // Given up by the policy; never as one that is done.
        expect(logger.of("dropped")).toHaveLength(1);
        expect(left).toEqual([]);
        await broker.stop();
      });

      test(`27, 51, ${form}: an error that has ended the transaction, and is none to try again after, is a failed attempt`, async () => {
        const db = await openTables(open, [Jobs]);
        await db.query(`CREATE PROCEDURE give_up() BEGIN
          ROLLBACK;
          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nothing works';
        END`);
        const { broker, logger } = testBroker(db.source);
        const attempts: unknown[] = [];
        broker.subscribe(
          Jobs.queue(),
          { transactional: true, onFailure: { throw: retryAfter(1) } },
          async (_, { attempt, tx }) => {
            attempts.push(attempt);
            await tx.query(db.effect, [String(attempt)]);
            if (attempt === 3) return;
            await tx.query("CALL give_up()");
          },
        );
        await Jobs.queue().insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(attempts).toEqual([1, 2, 3]);
        expect(await db.effects()).toEqual(["3"]);
        expect(logger.of("settlement_failed")).toEqual([]);
        await broker.stop();
      });

      test(`27, ${form}: a lock wait timeout in the handler is its own failure, and its transaction goes on`, async () => {
        const db = await openTables(open, [Jobs]);
        await db.query(TOTALS);
        await db.query("INSERT INTO totals VALUES (1, 0)");
        const blocker = await db.another().connect();
        onTestFinished(async () => {
          await blocker.rollback();
          await blocker.release();
        });
        await blocker.begin();
        await blocker.query("SELECT * FROM totals FOR UPDATE");
        const { broker, logger } = testBroker(db.source);
        const errors: unknown[] = [];
        broker.subscribe(Jobs.queue(), { transactional: true }, async (_, { tx }) => {
          await tx.query(db.effect, ["before"]);
          await tx.query("SET SESSION innodb_lock_wait_timeout = 1");
          await tx
            .query("UPDATE totals SET seen = 1")
            .catch((error: unknown) => errors.push(error));
          await tx.query("SET SESSION innodb_lock_wait_timeout = DEFAULT");
          await tx.query(db.effect, ["after"]);
        });
        await Jobs.queue().insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(errors).toMatchObject([{ errno: 1205 }]);
        expect(await db.effects()).toEqual(["before", "after"]);
        expect(logger.of("redelivered")).toEqual([]);
      });
    }

    test("27, 35: a settlement that waits too long for a lock, or meets a deadlock, is tried again, and no handler sees it", async () => {
      const [, lease] = TABLES;
      const { Jobs } = lease;
      const db = await openTables(open, [Jobs]);
      // Refuses as the server does, some times over.
      await db.query("CREATE TABLE trouble (n INT PRIMARY KEY, code INT NOT NULL) ENGINE = MyISAM");
      await db.query("INSERT INTO trouble VALUES (1, 1213), (2, 1205), (3, 1213)");
      await db.query(`CREATE TRIGGER trouble BEFORE DELETE ON lease_jobs FOR EACH ROW
        BEGIN
          DECLARE found INT;
          SELECT MIN(n) INTO found FROM trouble;
          IF found IS NOT NULL THEN
            SELECT code INTO @code FROM trouble WHERE n = found;
            DELETE FROM trouble WHERE n = found;
            IF @code = 1213 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'deadlock'; END IF;
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'lock wait timeout';
          END IF;
        END`);
      const { broker, logger } = testBroker(db.source);
      let calls = 0;
      broker.subscribe(Jobs.queue(), () => {
        calls += 1;
      });
      await Jobs.queue().insert(db.source, 1);
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(calls).toBe(1);
      expect((await db.query("SELECT n FROM trouble")).rows).toEqual([]);
      expect(logger.of("settlement_failed")).toEqual([]);
    });
  });
});
