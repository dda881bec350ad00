import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { c } from "../../src/table/columns.ts";
import {
  AdvisoryJobs,
  LeaseJobs,
  LockJobs,
  openTables,
  testBroker,
} from "../support/broker-table.ts";
import { forEachSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

describe("23: what a start warns of, once", () => {
  forEachSource({ connections: "many" }, (_name, open) => {
    test("a server timeout that would end a row lock, or a handler's transaction", async () => {
      const db = await openTables(open, [LeaseJobs, LockJobs, AdvisoryJobs]);
      await db.query(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = 45000', current_database()); END $$",
      );
      const { broker, logger } = testBroker(db.source);
      for (const Jobs of [LeaseJobs, LockJobs, AdvisoryJobs]) {
        const { name } = Jobs.description;
        broker.subscribe(Jobs.queue("plain"), { name: `${name} plain` }, () => undefined);
        broker.subscribe(
          Jobs.queue("tx"),
          { name: `${name} tx`, transactional: true },
          () => undefined,
        );
      }
      await broker.start();
      // What each later claim finds is not said again.
      await broker.publish(LockJobs.queue("plain"), 1);
      await broker.publish(LeaseJobs.queue("tx"), 1);
      await until(() => broker.stats().filter(({ settled }) => settled.ack === 1).length === 2);
      await broker.stop();
      const lines = logger.of("server_timeout");
      expect(lines.map(({ fields }) => fields.subscription).sort()).toEqual([
        "advisory_jobs tx",
        "lease_jobs tx",
        "lock_jobs plain",
        "lock_jobs tx",
      ]);
      for (const { fields, level } of lines) {
        expect(level).toBe("warn");
        expect(fields).toMatchObject({
          setting: "idle_in_transaction_session_timeout",
          timeoutMs: 45_000,
        });
      }
    });

    test("an isolation level at which row locks fail, and a missing index, once for many claims", async () => {
      const Strict = inboxTable("strict_jobs", {
        columns: {
          id: c.bigint().id().generated(),
          prio: c.integer().priority().nullable(),
          payload: c.json().payload(),
        },
        isolation: "repeatableRead",
      });
      const db = await openTables(open, []);
      const [create = "", ...indexes] = Strict.ddl("postgres");
      await db.query(create);
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(Strict.queue(), { workers: 2 }, () => undefined);
      await broker.start();
      for (let n = 1; n <= 3; n += 1) {
        await broker.publish(Strict.queue(), n);
        await until(() => broker.stats()[0]?.settled.ack === n);
      }
      await broker.stop();
      expect(logger.of("isolation_advice")).toMatchObject([
        { level: "warn", fields: { level: "repeatableRead" } },
      ]);
      expect(logger.of("index_advice").map(({ fields }) => fields.ddl)).toEqual(indexes);
      expect(indexes).toHaveLength(1);
    });
  });
});
