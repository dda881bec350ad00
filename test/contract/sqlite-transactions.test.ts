import { describe, expect, test } from "vitest";
import { TransactionError } from "../../src/errors.ts";
import { drop } from "../../src/outcome.ts";
import { AdvisoryJobs, LeaseJobs, openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

/** What ends a transaction on SQLite, whatever name stands behind it; `mine` is a savepoint of the handler's. */
const ENDS = [
  "ROLLBACK TRANSACTION mine",
  'ROLLBACK TRANSACTION "mine"',
  "rollback /* to */ transaction mine",
  "ROLLBACK TRANSACTION",
  "ROLLBACK",
  "COMMIT TRANSACTION mine",
  "END TRANSACTION mine",
  "END",
  "SELECT 1; ROLLBACK TRANSACTION mine",
] as const;

/** What stays within it. */
const STAYS = [
  "ROLLBACK TO mine",
  "ROLLBACK TO SAVEPOINT mine",
  "ROLLBACK TRANSACTION TO mine",
  "ROLLBACK TRANSACTION TO SAVEPOINT mine",
] as const;

const TABLES = [
  ["lease", LeaseJobs],
  ["advisory lock", AdvisoryJobs],
] as const;

describe("handlers on SQLite that end their transaction", () => {
  forEachTarget({ connections: "one", dialect: "sqlite" }, (_target, open) => {
    describe.each(TABLES)("%s", (_form, Jobs) => {
      test.each(ENDS)(
        "63: %s is refused, and a handler that goes on commits all or nothing",
        async (text) => {
          const db = await openTables(open, [Jobs]);
          const { broker } = testBroker(db.source);
          const errors: unknown[] = [];
          broker.subscribe(Jobs.queue("a"), { transactional: true }, async (_, { tx }) => {
            await tx.query("SAVEPOINT mine");
            await tx.query(db.effect, ["before"]);
            await tx.query(text).catch((error: unknown) => errors.push(error));
            await tx.query(db.effect, ["after"]);
          });
          await Jobs.queue("a").insert(db.source, 1);
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 1);
          expect(errors).toEqual([expect.any(TransactionError)]);
          expect(String(errors[0])).toMatch(/(ROLLBACK|COMMIT|END) is refused here/);
          expect(await db.effects()).toEqual(["before", "after"]);
          expect(await db.rows(Jobs)).toEqual([]);
        },
      );

      test("63: nothing of a handler that throws what it is refused with is committed", async () => {
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        let calls = 0;
        broker.subscribe(
          Jobs.queue("a"),
          { transactional: true, onFailure: { throw: drop() } },
          async (_, { tx }) => {
            calls += 1;
            await tx.query(db.effect, ["before"]);
            await tx.query("SAVEPOINT mine");
            await tx.query("ROLLBACK TRANSACTION mine");
          },
        );
        await Jobs.queue("a").insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.drop === 1);
        expect(calls).toBe(1);
        expect(await db.effects()).toEqual([]);
        expect(await db.rows(Jobs)).toEqual([]);
      });

      test.each(STAYS)("60: %s undoes what is behind the savepoint, and no more", async (text) => {
        const db = await openTables(open, [Jobs]);
        const { broker } = testBroker(db.source);
        broker.subscribe(Jobs.queue("a"), { transactional: true }, async (_, { tx }) => {
          await tx.query(db.effect, ["before"]);
          await tx.query("SAVEPOINT mine");
          await tx.query(db.effect, ["undone"]);
          await tx.query(text);
          await tx.query(db.effect, ["after"]);
        });
        await Jobs.queue("a").insert(db.source, 1);
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 1);
        expect(await db.effects()).toEqual(["before", "after"]);
      });
    });
  });
});
