import mysql from "mysql2/promise";
import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { purgeProcessed } from "../../src/broker/purge-processed.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { fromMysql2 } from "../../src/driver/mysql2.ts";
import { SchemaError } from "../../src/errors.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, rejection, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const Values = inboxTable("exact_values", {
  columns: {
    id: c.bigint().id(),
    grp: c.text().group(),
    attempt: c.integer().attempt().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    due: c.timestamp().retryAfter().nullable(),
    big: c.bigint(),
    at: c.timestamp(),
    text: c.text("a_text"),
    bytes: c.bytes("some_bytes"),
  },
});

const Numbered = inboxTable("numbered", {
  columns: {
    id: c.decimal().id(),
    lease: c.timestamp().lockedUntil().nullable(),
  },
});

const Kept = inboxTable("kept", {
  columns: {
    id: c.bigint().id().generated(),
    done: c.timestamp().processedAt().nullable(),
  },
});

/** Sessions whose time zone is not UTC. */
function elsewhere(url: string | undefined) {
  if (url === undefined) throw new Error("the database has no address");
  const pool = mysql.createPool({ uri: url, connectionLimit: 4 });
  pool.on("connection", (connection) => void connection.query("SET time_zone = '+05:30'"));
  onTestFinished(() => pool.end());
  return fromMysql2(pool);
}

describe("values on MySQL and MariaDB", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, ({ name }, open) => {
    test.each([1, 2])(
      "4: ids beyond 64 bits, as decimals, lose no digit: %d at a time",
      async (batch) => {
        const db = await openTables(open, [Numbered]);
        await db.query("ALTER TABLE numbered MODIFY id DECIMAL(20) NOT NULL");
        const ids = [0, 1, 2].map((n) => String(18_446_744_073_709_551_613n + BigInt(n)));
        await Numbered.insert(
          db.source,
          ids.map((id) => ({ id })),
        );
        const { broker } = testBroker(db.source);
        const left: unknown[] = [];
        const seen: string[] = [];
        broker.subscribe(Numbered.queue({ name: "n" }), { batch, workers: 1 }, async (rows) => {
          seen.push(...rows.map(({ id }) => id));
          left.push((await db.query("SELECT id FROM numbered")).rows.length);
        });
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 3);
        expect(seen).toEqual(ids);
        expect(left).toEqual(batch === 1 ? [3, 2, 1] : [3, 1]);
        expect((await db.query("SELECT id FROM numbered")).rows).toEqual([]);
      },
    );

    test("14: a group is the text that was asked for, whatever a collation takes for the same", async () => {
      const db = await openTables(open, [Values]);
      await db.query(
        "ALTER TABLE exact_values MODIFY grp VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
      );
      const row = { big: 0n, at: new Date(0), text: "", bytes: Buffer.alloc(0) };
      await Values.insert(
        db.source,
        ["jobs", "Jobs", "jobs ", "j\u00f6bs"].map((grp, n) => ({
          ...row,
          id: BigInt(n + 1),
          grp,
        })),
      );
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(Values.queue("jobs"), ({ grp }) => void seen.push(grp));
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await until(() => broker.stats()[0]?.state === "resting");
      expect(seen).toEqual(["jobs"]);
      expect((await db.query("SELECT id FROM exact_values ORDER BY id")).rows).toHaveLength(3);
    });

    test("31, 32: a lease in a column of whole seconds is rounded up, and proves the claim", async () => {
      const db = await openTables(open, [Values]);
      await db.query("ALTER TABLE exact_values MODIFY lease DATETIME(0) NULL");
      const row = { big: 0n, at: new Date(0), text: "", bytes: Buffer.alloc(0), grp: "a" };
      await Values.insert(db.source, { ...row, id: 1n });
      const { broker } = testBroker(db.source, { leaseMs: 1500 });
      const left: number[] = [];
      broker.subscribe(Values.queue("a"), { transactional: true }, async (_, { tx }) => {
        const { rows } = await tx.query(
          "SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lease) AS us FROM exact_values",
        );
        left.push(Number(rows[0]?.["us"]));
      });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(left).toHaveLength(1);
      expect(left[0]).toBeLessThanOrEqual(2_500_000);
    });

    test.skipIf(name.startsWith("mariadb"))(
      "22: a TIMESTAMP column of a session that is not at UTC stops the start, with what to change",
      async () => {
        const db = await openTables(open, [Values]);
        await db.query("ALTER TABLE exact_values MODIFY due TIMESTAMP(6) NULL");
        const { broker } = testBroker(elsewhere(db.url));
        broker.subscribe(Values.queue("a"), () => undefined);
        const error = await rejection(broker.start());
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(/its column due is a TIMESTAMP.*DATETIME\(6\)/);
        const other = testBroker(db.source);
        other.broker.subscribe(Values.queue("a"), () => undefined);
        await other.broker.start();
      },
    );

    test("78: no row is purged hours early, or worked again, where a session sees a TIMESTAMP at its own hour", async () => {
      const db = await openTables(open, [Kept]);
      await db.query("ALTER TABLE kept MODIFY done TIMESTAMP(6) NULL");
      await db.query("INSERT INTO kept (done) VALUES (NOW() - INTERVAL 1 HOUR)");
      const { max, source } = { max: 1, source: db.source };
      const west: ConnectionSource = {
        max,
        database: "mysql",
        async connect(signal) {
          const connection = await source.connect(signal);
          await connection.query("SET time_zone = '-05:00'");
          return connection;
        },
      };
      const error = await rejection(purgeProcessed(west, Kept, { olderThan: "2h" }));
      expect(error).toBeInstanceOf(SchemaError);
      expect(String(error)).toMatch(/kept.*its column done is a TIMESTAMP/);
      expect((await db.query("SELECT id FROM kept")).rows).toHaveLength(1);
    });

    test.skipIf(name.startsWith("mariadb")).each(["utf8", "cp1251"])(
      "22, 4: text in a session of %s stops the start: not every character of it would arrive",
      async (charset) => {
        const db = await openTables(open, [Values]);
        const pool = mysql.createPool({ uri: db.url ?? "", connectionLimit: 4, charset });
        onTestFinished(() => pool.end());
        const { broker } = testBroker(fromMysql2(pool));
        broker.subscribe(Values.queue("a"), () => undefined);
        const error = await rejection(broker.start());
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(
          /its column grp is text, .* (utf8mb3|utf8|cp1251), .*utf8mb4/,
        );
      },
    );
  });
});
