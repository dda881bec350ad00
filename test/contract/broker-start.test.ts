import { describe, expect, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { SchemaError, TableError } from "../../src/errors.ts";
import { c } from "../../src/table/columns.ts";
import { LeaseJobs, LockJobs, openTables, rejection, testBroker } from "../support/broker-table.ts";
import { forEachSource, forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id().generated(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  payload: c.json().payload(),
};

const Plain = inboxTable("plain_jobs", { columns, isolation: "readCommitted" });

/** What the library's checks may have left on a session. */
async function preparedStatements(source: ConnectionSource): Promise<unknown[]> {
  const connection = await source.connect();
  const { rows } = await connection.query(
    "SELECT name FROM pg_prepared_statements WHERE statement ~* 'explain|prepare|intray_check'",
  );
  await connection.release();
  return rows;
}

describe("the start of a broker", () => {
  forEachTarget({ connections: "one", form: "rowLock" }, ({ dialect }, open) => {
    test("22: one subscription that does not fit stops the others with it", async () => {
      const db = await openTables(open, [LeaseJobs]);
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      broker.subscribe(LockJobs.queue("a"), { name: "locks" }, () => undefined);
      const error = await rejection(broker.run());
      expect(String(error)).toContain("the database has no table lock_jobs");
      expect(logger.of("subscription_failed")).toMatchObject([
        { level: "error", fields: { subscription: "locks" } },
      ]);
      expect(broker.stats().every(({ state }) => state === "stopped")).toBe(true);
    });

    test("23: warns of an isolation level at which row locks fail, where it is one and opened", async ({
      skip,
    }) => {
      // SQL Server's row lock claim does not open it.
      skip(dialect.features.rowLockIsolations?.includes("serializable") === false);
      const Strict = inboxTable("strict_jobs", { columns, isolation: "serializable" });
      const db = await openTables(open, [Strict, Plain]);
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(Strict.queue(), () => undefined);
      broker.subscribe(Plain.queue(), () => undefined);
      await broker.start();
      expect(logger.of("isolation_advice")).toMatchObject([
        { level: "warn", fields: { queue: "strict_jobs", level: "serializable" } },
      ]);
    });

    test("8: a level that the database does not open is refused when subscribing", async () => {
      const db = await openTables(open, []);
      const Snapshot = inboxTable("snapshot_jobs", { columns, isolation: "snapshot" });
      const { broker } = testBroker(db.source);
      const wrong = () => broker.subscribe(Snapshot.queue(), () => undefined);
      expect(() => broker.route("snapshots", Snapshot.queue())).toThrow(TableError);
      expect(wrong).toThrow(TableError);
      expect(wrong).toThrow(
        /snapshot_jobs: .*opens no transaction at isolation snapshot.*; it opens .*readCommitted/,
      );
    });
  });

  forEachSource({ connections: "one" }, (_name, open) => {
    test("22: a statement that is refused when it is planned leaves nothing either", async () => {
      const db = await openTables(open, [Plain]);
      await db.query("ALTER TABLE plain_jobs RENAME TO stored");
      await db.query("CREATE VIEW plain_jobs AS SELECT DISTINCT * FROM stored");
      for (const _ of ["once", "and again"]) {
        const { broker } = testBroker(db.source);
        broker.subscribe(Plain.queue(), () => undefined);
        const error = await rejection(broker.start());
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(
          /refuses the statement "\w+" on table plain_jobs: .*(view|DISTINCT)/,
        );
      }
      expect(await preparedStatements(db.source)).toEqual([]);
    });

    test("22: a statement that the server refuses stops the start, with its name and the table's", async () => {
      const db = await openTables(open, []);
      await db.query(
        "CREATE TABLE lease_jobs (id bigint PRIMARY KEY, grp text, attempt text, due timestamptz, prio int, lane text, headers jsonb, reason text, note text, payload jsonb, lease timestamptz)",
      );
      const { broker } = testBroker(db.source);
      broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(SchemaError);
      expect(String(error)).toMatch(
        /the server refuses the statement "\w+" on table lease_jobs: .*(text|integer)/,
      );
      expect(broker.health().state).toBe("idle");
    });

    test("22: nothing of the checks stays on the session, and they change no row", async () => {
      const Quoted = inboxTable('$1 "of" $2', {
        columns: { ...columns, $1: c.text("a $1 'b").nullable() },
      });
      const db = await openTables(open, [Quoted]);
      await Quoted.insert(db.source, { payload: 1, $1: "$1" });
      const { broker } = testBroker(db.source);
      broker.subscribe(Quoted.queue(), () => undefined).pause();
      await broker.start();
      const { rows } = await db.query(`SELECT attempt, "a $1 'b" AS text FROM "$1 ""of"" $2"`);
      expect(rows).toEqual([{ attempt: 1, text: "$1" }]);
      expect(await preparedStatements(db.source)).toEqual([]);
    });

    test("53: a move into another table copies each column, and starts the attempt anew", async () => {
      const Failed = inboxTable("failed_jobs", {
        columns: {
          failureId: c.bigint("failure_id").id().generated(),
          attempt: c.integer().attempt({ from: 0 }).generated(),
          headers: c.json().headers().nullable(),
          deadLetterReason: c.text("why").nullable(),
          comment: c.text().nullable(),
          body: c.json().payload(),
        },
      });
      const db = await openTables(open, [LeaseJobs, Failed]);
      const queue = LeaseJobs.queue("a");
      const { broker } = testBroker(db.source);
      const subscribe = (deadLetterColumns: Record<string, string | null>) =>
        broker.subscribe(queue, { deadLetter: Failed, deadLetterColumns, maxAttempts: 1 }, () => {
          throw new Error("no stock");
        });
      expect(() => subscribe({})).toThrow(
        /would be lost in failed_jobs: add it there, or say so with deadLetterColumns: \{ prio: null \}/,
      );
      subscribe({ prio: null, lane: null, reason: null, note: "comment" });
      await LeaseJobs.insert(db.source, {
        grp: "a",
        payload: { n: 1 },
        note: "a note",
        headers: { trace: "t" },
      });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.deadLetter === 1);
      expect(await db.rows(LeaseJobs)).toEqual([]);
      const { rows } = await db.query(
        "SELECT attempt, headers::text AS headers, why, comment, body::text AS body FROM failed_jobs",
      );
      expect(rows).toMatchObject([
        { attempt: 0, headers: '{"trace": "t"}', comment: "a note", body: '{"n": 1}' },
      ]);
      expect(String(rows[0]?.why)).toContain("no stock");
    });
  });

  // There a CREATE TABLE has its indexes within: see mysql-claims.test.ts.
  forEachTarget({ connections: "one", without: "mysql" }, (_target, open) => {
    test("23: warns of a missing index, with the one to create, and not once it is there", async () => {
      const db = await openTables(open, []);
      const [create, ...indexes] = LeaseJobs.ddl(db.dialect);
      await db.query(create ?? "");
      expect(indexes.length).toBeGreaterThan(0);
      const first = testBroker(db.source);
      first.broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      await first.broker.start();
      await first.broker.stop();
      expect(first.logger.of("index_advice").map(({ fields }) => fields.ddl)).toEqual(indexes);
      for (const index of indexes) await db.query(index);
      const second = testBroker(db.source);
      second.broker.subscribe(LeaseJobs.queue("a"), () => undefined);
      await second.broker.start();
      expect(second.logger.of("index_advice")).toEqual([]);
    });
  });
});
