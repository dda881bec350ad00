import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { c } from "../../src/table/columns.ts";
import {
  AdvisoryJobs,
  LeaseJobs,
  LockJobs,
  openTables,
  testBroker,
} from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { WatchedSource } from "../support/work-inbox.ts";

/** A server's timeout for transactions that idle, of a session, and what it is named. */
const TIMEOUTS: Readonly<Record<string, readonly [setting: string, statement: string]>> = {
  postgres: [
    "idle_in_transaction_session_timeout",
    "SET idle_in_transaction_session_timeout = 45000",
  ],
  mysql: ["wait_timeout", "SET SESSION wait_timeout = 45"],
};

/** A source whose sessions are set up by a statement, as a pool's hook for new connections does it. */
class SetUpSource extends WatchedSource {
  statement = "SELECT 1";

  override async connect(signal?: AbortSignal): Promise<Connection> {
    const connection = await super.connect(signal);
    await connection.query(this.statement);
    return connection;
  }
}

describe("23: what a start warns of, once", () => {
  // SQL Server has no such timeout, nor has SQLite.
  forEachTarget({ connections: "many", form: "rowLock", without: "sqlserver" }, (_target, open) => {
    test("a server timeout that would end a row lock, or a handler's transaction", async () => {
      const db = await openTables(open, [LeaseJobs, LockJobs, AdvisoryJobs]);
      const [setting, statement = ""] = TIMEOUTS[db.dialect] ?? [];
      const source = Object.assign(new SetUpSource(db.source), { database: db.dialect, statement });
      const { broker, logger } = testBroker(source);
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
        expect(fields).toMatchObject({ setting, timeoutMs: 45_000 });
      }
    });
  });

  // There a CREATE TABLE has its indexes within: see mysql-claims.test.ts.
  forEachTarget({ connections: "one", without: "mysql" }, ({ dialect }, open) => {
    const { conflictingIsolations = [], forms, rowLockIsolations } = dialect.features;
    const level = "repeatableRead";
    const opens = forms.includes("rowLock") && rowLockIsolations?.includes(level) !== false;

    test("an isolation level at which row locks fail, and a missing index, once for many claims", async () => {
      const columns = {
        id: c.bigint().id().generated(),
        prio: c.integer().priority().nullable(),
        payload: c.json().payload(),
      };
      const lease = c.timestamp().lockedUntil().nullable();
      const attempt = c.integer().attempt().generated();
      const Strict = opens
        ? inboxTable("strict_jobs", { columns, isolation: level })
        : inboxTable("strict_jobs", { columns: { ...columns, attempt, lease } });
      const db = await openTables(open, []);
      const [create = "", ...indexes] = Strict.ddl(db.dialect);
      await db.query(create);
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(Strict.queue(), { workers: 2 }, () => undefined);
      await broker.start();
      for (let n = 1; n <= 3; n += 1) {
        await broker.publish(Strict.queue(), n);
        await until(() => broker.stats()[0]?.settled.ack === n);
      }
      await broker.stop();
      const isAdvised = opens && conflictingIsolations.includes(level);
      expect(logger.of("isolation_advice")).toMatchObject(
        isAdvised ? [{ level: "warn", fields: { level } }] : [],
      );
      expect(logger.of("index_advice").map(({ fields }) => fields.ddl)).toEqual(indexes);
      expect(indexes).toHaveLength(1);
    });
  });
});
