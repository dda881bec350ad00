import mariadb from "mariadb";
import mysql from "mysql2/promise";
import { describe, expect, onTestFinished, test } from "vitest";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { purgeProcessed } from "../../src/broker/purge-processed.ts";
import { tableStatus } from "../../src/broker/table-status.ts";
import type { Connection, ConnectionSource } from "../../src/driver/connection.ts";
import { fromMariadb } from "../../src/driver/mariadb.ts";
import { fromMysql2 } from "../../src/driver/mysql2.ts";
import { SchemaError } from "../../src/errors.ts";
import { deadLetter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, rejection, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const Short = inboxTable("short_texts", {
  columns: {
    id: c.bigint().id().generated(),
    grp: c.text().group(),
    done: c.timestamp().processedAt().nullable(),
    payload: c.json().payload(),
  },
});

const Timed = inboxTable("timed", {
  columns: { id: c.bigint().id().generated(), at: c.timestamp(), note: c.text().nullable() },
});

const LENIENT = "SET sql_mode = 'NO_ENGINE_SUBSTITUTION'";
const ELSEWHERE = "SET time_zone = '+05:30'";

/** A pool of the driver whose every session begins with the statement, and a source on it. */
function poolOf(driver: string, url: string | undefined, initSql: string) {
  if (url === undefined) throw new Error("the database has no address");
  if (!driver.startsWith("mariadb")) {
    const pool = mysql.createPool({ uri: url, connectionLimit: 4 });
    pool.on("connection", (connection) => void connection.query(initSql));
    onTestFinished(() => pool.end());
    return { pool, source: fromMysql2(pool) };
  }
  const target = new URL(url);
  const pool = mariadb.createPool({
    host: target.hostname,
    port: Number(target.port),
    user: decodeURIComponent(target.username),
    password: decodeURIComponent(target.password),
    database: target.pathname.slice(1),
    connectionLimit: 4,
    initSql,
  });
  onTestFinished(() => pool.end());
  return { pool, source: fromMariadb(pool, { max: 4 }) };
}

/** The same source, with all that is sent through it. */
function recording(source: ConnectionSource): { source: ConnectionSource; sent: string[] } {
  const sent: string[] = [];
  const recorded = (connection: Connection) =>
    new Proxy(connection, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]) => {
          if (property !== "release") sent.push(String(args[0] ?? String(property)));
          return Reflect.apply(value, target, args);
        };
      },
    });
  return {
    sent,
    source: {
      database: "mysql",
      connect: async (signal) => recorded(await source.connect(signal)),
    },
  };
}

describe("sessions on MySQL and MariaDB that would change values", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, ({ name }, open) => {
    const strictness =
      /short_texts: its column id is written .* sql_mode .*STRICT_TRANS_TABLES.*: add STRICT_TRANS_TABLES/;

    test("22: a sql_mode that is not strict stops the start, with what to change", async () => {
      const db = await openTables(open, [Short]);
      const { broker } = testBroker(poolOf(name, db.url, LENIENT).source);
      broker.subscribe(Short.queue("a"), () => undefined);
      const error = await rejection(broker.start());
      expect(error).toBeInstanceOf(SchemaError);
      expect(String(error)).toMatch(strictness);
    });

    test("22, 71: a sql_mode of STRICT_ALL_TABLES alone is strict", async () => {
      const db = await openTables(open, [Short]);
      const { source } = poolOf(name, db.url, "SET sql_mode = 'STRICT_ALL_TABLES'");
      await Short.queue("a").insert(source, 1);
      const { broker } = testBroker(source);
      broker.subscribe(Short.queue("a"), () => undefined);
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
    });

    test("71, 72, 4: an insert is refused where the session would cut what does not fit", async () => {
      const db = await openTables(open, [Short]);
      await db.query("ALTER TABLE short_texts MODIFY payload VARCHAR(5) NOT NULL");
      const { pool, source } = poolOf(name, db.url, LENIENT);
      const { broker } = testBroker(source);
      broker.route("short", Short.queue("a"));
      const lent = await pool.getConnection();
      const connection = await source.connect();
      try {
        for (const refused of [
          () => Short.insert(source, { grp: "a", payload: "far too long" }),
          () => Short.queue("a").insert(pool, ["far too long", "x"]),
          () => Short.queue("a").insert(lent, "far too long"),
          () => Short.queue("a").insert(connection, "far too long"),
          () => broker.publish("short", "far too long"),
          () => broker.publish("short", "far too long"),
        ]) {
          const error = await rejection(refused());
          expect(error).toBeInstanceOf(SchemaError);
          expect(String(error)).toMatch(strictness);
        }
      } finally {
        await connection.release();
        await lent.release();
      }
      expect((await db.query("SELECT id FROM short_texts")).rows).toEqual([]);
      const strict = await rejection(Short.queue("a").insert(db.source, "far too long"));
      expect(String(strict)).toMatch(/too long/i);
    });

    test("78, 22: rows are not moved, purged or read in a session that is not strict", async () => {
      const db = await openTables(open, [Short]);
      await Short.queue("dead").insert(db.source, 1);
      const { pool, source } = poolOf(name, db.url, LENIENT);
      const dead = deadLetters(source, Short.queue("dead"));
      for (const refused of [
        () => dead.list(),
        () => dead.show(1),
        () => dead.retry({ all: true, to: Short.queue("a") }),
        () => dead.purge({ ids: [1] }),
        () => purgeProcessed(pool, Short, { olderThan: 0 }),
        () => tableStatus(source, Short),
      ]) {
        const error = await rejection(refused());
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(strictness);
      }
      expect((await db.query("SELECT id FROM short_texts")).rows).toHaveLength(1);
    });

    test("71, 4: an insert into a TIMESTAMP is refused where the session is not at UTC, as a start is", async () => {
      const db = await openTables(open, [Timed]);
      const { source } = poolOf(name, db.url, ELSEWHERE);
      const at = new Date("2026-03-01T12:00:00.123Z");
      // What has no time zone is exact in any session.
      await Timed.insert(source, { at });
      await db.query("ALTER TABLE timed MODIFY at TIMESTAMP(6) NOT NULL");
      const refused = poolOf(name, db.url, ELSEWHERE);
      for (const conn of [refused.source, refused.pool]) {
        const error = await rejection(Timed.insert(conn, { at }));
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(
          /timed: its column at is a TIMESTAMP, which the session tells in its own time zone/,
        );
      }
      await Timed.insert(db.source, { at });
      const { rows } = await db.query<{ at: string }>("SELECT CAST(at AS CHAR) AS at FROM timed");
      expect(rows.map((row) => row.at)).toEqual(Array(2).fill("2026-03-01 12:00:00.123000"));
    });

    test("71, 73, 4: the same through a handler's tx, and nothing else of it commits", async () => {
      const Lease = inboxTable("tx_jobs", {
        columns: {
          id: c.bigint().id().generated(),
          attempt: c.integer().attempt().generated(),
          lease: c.timestamp().lockedUntil().nullable(),
        },
      });
      const db = await openTables(open, [Timed, Lease]);
      await db.query("ALTER TABLE timed MODIFY at TIMESTAMP(6) NOT NULL");
      await Lease.insert(db.source, {});
      const { broker } = testBroker(poolOf(name, db.url, ELSEWHERE).source);
      const errors: unknown[] = [];
      broker.subscribe(Lease.queue(), { transactional: true }, async (_, { tx }) => {
        await tx.query(db.effect, ["undone"]);
        await Timed.insert(tx, { at: new Date(0) }).catch((error: unknown) => {
          errors.push(error);
          throw error;
        });
      });
      await broker.start();
      await until(() => errors.length > 0);
      await broker.stop();
      expect(errors[0]).toBeInstanceOf(SchemaError);
      expect(await db.effects()).toEqual([]);
      expect((await db.query("SELECT id FROM timed")).rows).toEqual([]);
    });

    test("53, 78, 22: rows are not given up or run again into a TIMESTAMP that the session tells in its own zone", async () => {
      const columns = { id: c.bigint().id().generated(), at: c.timestamp() };
      const Source = inboxTable("from_here", { columns });
      const Dead = inboxTable("gone_there", { columns: { ...columns, why: c.text().nullable() } });
      const db = await openTables(open, [Source, Dead]);
      await db.query("ALTER TABLE gone_there MODIFY at TIMESTAMP(6) NOT NULL");
      await Source.insert(db.source, { at: new Date("2026-03-01T12:00:00Z") });
      const { source } = poolOf(name, db.url, ELSEWHERE);
      const told = /gone_there: its column at is a TIMESTAMP/;
      const { broker } = testBroker(source);
      broker.subscribe(Source.queue(), { deadLetter: Dead }, () => deadLetter("no"));
      const atStart = await rejection(broker.start());
      expect(atStart).toBeInstanceOf(SchemaError);
      expect(String(atStart)).toMatch(told);
      const again = await rejection(deadLetters(source, Source).retry({ all: true, to: Dead }));
      expect(again).toBeInstanceOf(SchemaError);
      expect(String(again)).toMatch(told);
      expect((await db.query("SELECT id FROM from_here")).rows).toHaveLength(1);
      const utc = testBroker(db.source);
      utc.broker.subscribe(Source.queue(), { deadLetter: Dead }, () => deadLetter("no"));
      await utc.broker.start();
      await until(() => utc.broker.stats()[0]?.settled.deadLetter === 1);
      expect((await db.query("SELECT id FROM gone_there")).rows).toHaveLength(1);
    });

    test.skipIf(name.startsWith("mariadb"))(
      "71, 4: an insert in a session of another character set is refused",
      async () => {
        const db = await openTables(open, [Short]);
        const pool = mysql.createPool({ uri: db.url ?? "", connectionLimit: 2, charset: "cp1251" });
        onTestFinished(() => pool.end());
        const error = await rejection(Short.queue("a").insert(pool, "\u{1f600}"));
        expect(error).toBeInstanceOf(SchemaError);
        expect(String(error)).toMatch(/its column grp is text, and the session is in cp1251/);
      },
    );

    test("29, 71: a source is looked at once for each table; the inserts behind it cost what they cost", async () => {
      const db = await openTables(open, [Short, Timed]);
      const { sent, source } = recording(db.source);
      const given = { id: 1n, at: new Date(0) };
      await Timed.insert(source, given);
      expect(sent.filter((text) => text.includes("information_schema"))).toHaveLength(1);
      sent.length = 0;
      await Timed.insert(source, { ...given, id: 2n });
      expect(sent).toEqual([expect.stringMatching(/^INSERT/)]);
      sent.length = 0;
      await Short.queue("a").insert(source, 1);
      expect(sent.filter((text) => text.includes("information_schema"))).toHaveLength(1);
      sent.length = 0;
      await Promise.all([Short.queue("a").insert(source, 2), Timed.insert(source, given)]).catch(
        () => undefined,
      );
      expect(sent.filter((text) => text.includes("information_schema"))).toEqual([]);
    });
  });
});
