import Database from "libsql";
import mariadb from "mariadb";
import mariadbCallback, { type PoolConnection } from "mariadb/callback";
import mysqlCallback from "mysql2";
import mysql from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { fromBetterSqlite3 } from "../../src/driver/better-sqlite3.ts";
import { c } from "../../src/table/columns.ts";
import { LeaseJobs, rejection } from "../support/broker-table.ts";
import { describeOn } from "../support/databases.ts";
import { describeOnMysql } from "../support/mysql-database.ts";
import { wordsOf } from "../support/words.ts";

const rows = [{ a: "text" }, "text", null, [1]];
const BIG = 9_007_199_254_740_993n;
const queue = LeaseJobs.queue("a");

/** Rows whose columns differ, so that they take several statements; the last is refused. */
const mixed = [
  { grp: "a", payload: 1 },
  { grp: "a", payload: 2, note: "n" },
  { grp: "a", payload: 3, id: 1n, note: "n" },
];

/** Its ids are beyond what a number holds, and its times finer than a Date. */
const Exact = inboxTable("exact", {
  columns: {
    id: c.bigint().id().generated(),
    big: c.bigint(),
    at: c.timestamp(),
    bytes: c.bytes(),
    payload: c.text().payload(),
  },
});
const exact = {
  big: -9_223_372_036_854_775_808n,
  at: new Date("2024-02-29T23:59:59.123Z"),
  bytes: Buffer.from([0, 255, 39, 92, 128]),
  payload: "a :name \\ ' \u{1F600}",
};

describeOnMysql("71: conn is whatever the service has", (create) => {
  async function database() {
    const made = await create();
    onTestFinished(() => made.drop());
    for (const Table of [LeaseJobs, Exact]) {
      for (const statement of Table.ddl("mysql")) await made.query(statement);
    }
    await made.query(`ALTER TABLE exact AUTO_INCREMENT = ${BIG}`);
    const { text } = wordsOf("mysql");
    return {
      ...made,
      async stored() {
        const found = await made.query<{ payload: string }>(
          `SELECT ${text("payload")} AS payload FROM lease_jobs ORDER BY id`,
        );
        return found.rows.map(({ payload }) => JSON.parse(payload));
      },
      /** Writes to `exact`, and sees that it is what was given. */
      async expectExact(conn: object) {
        await made.query("DELETE FROM exact");
        const [first = 0n, second] = await Exact.insert(conn, [exact, { ...exact, big: BIG }]);
        expect(first).toBeGreaterThanOrEqual(BIG);
        expect(second).toBe(first + 1n);
        const found = await made.query(
          `SELECT CAST(id AS CHAR) AS id, CAST(big AS CHAR) AS big, CAST(at AS CHAR) AS at,
            HEX(bytes) AS bytes, payload FROM exact ORDER BY id`,
        );
        const row = { ...exact, at: "2024-02-29 23:59:59.123000", bytes: "00FF275C80" };
        expect(found.rows).toEqual([
          { ...row, id: String(first), big: String(exact.big) },
          { ...row, id: String(second), big: String(BIG) },
        ]);
      },
    };
  }

  /** Settings that change what a driver answers, or how it sends. */
  const STRANGE = {
    rowsAsArray: true,
    nestTables: true,
    namedPlaceholders: true,
    dateStrings: true,
    timezone: "+05:30",
    typeCast: () => "nothing like it",
  } as const;

  function optionsOf(url: string) {
    const { hostname, password, pathname, port, username } = new URL(url);
    return {
      host: hostname,
      port: Number(port),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      connectionLimit: 2,
    };
  }

  type Db = Awaited<ReturnType<typeof database>>;

  /** The pool writes all or none, and a connection in the transaction that it has open. */
  async function expectPool(
    db: Db,
    pool: object,
    client: object,
    run: (sql: string) => Promise<unknown>,
  ) {
    await queue.insert(pool, rows, { headers: { a: "b" }, delay: "1h" });
    expect(await db.stored()).toEqual(rows);
    await rejection(LeaseJobs.insert(pool, mixed));
    expect(await db.stored()).toEqual(rows);
    await run("START TRANSACTION");
    const both = await Promise.all([queue.insert(client, [1, 2]), queue.insert(client, [3])]);
    expect(new Set(both.flat()).size).toBe(3);
    await LeaseJobs.insert(client, mixed.slice(0, 2));
    expect(await db.stored()).toEqual(rows);
    await run("ROLLBACK");
    expect(await db.stored()).toEqual(rows);
    await db.expectExact(pool);
    await db.expectExact(client);
  }

  test.each([["as it is", {}] as const, ["with strange settings", STRANGE] as const])(
    "a pool, a connection and a transaction of mysql2/promise, %s",
    async (_title, settings) => {
      const db = await database();
      const pool = mysql.createPool({ ...optionsOf(db.url), ...settings });
      onTestFinished(() => pool.end());
      const client = await pool.getConnection();
      await expectPool(db, pool, client, (sql) => client.query(sql));
      client.release();
      const alone = await mysql.createConnection({ ...optionsOf(db.url), ...settings });
      await db.expectExact(alone);
      await alone.end();
    },
  );

  test("a pool, a connection and a transaction of mysql2 with callbacks", async () => {
    const db = await database();
    const pool = mysqlCallback.createPool(optionsOf(db.url));
    onTestFinished(() => pool.promise().end());
    const client = await new Promise<mysqlCallback.PoolConnection>((resolve, reject) => {
      pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection)));
    });
    await expectPool(db, pool, client, (sql) => client.promise().query(sql));
    await db.expectExact(client.promise());
    client.release();
    await db.expectExact(pool.promise());
  });

  test.each([["as it is", {}] as const, ["with strange settings", STRANGE] as const])(
    "a pool, a connection and a transaction of mariadb, %s",
    async (_title, { timezone: _, ...settings }: Partial<typeof STRANGE>) => {
      const db = await database();
      const pool = mariadb.createPool({ ...optionsOf(db.url), ...settings, metaAsArray: true });
      onTestFinished(() => pool.end());
      const client = await pool.getConnection();
      await expectPool(db, pool, client, (sql) => client.query(sql));
      await client.release();
      const { connectionLimit: _limit, ...options } = optionsOf(db.url);
      const alone = await mariadb.createConnection({ ...options, ...settings });
      await db.expectExact(alone);
      await alone.end();
    },
  );

  test("what cannot be awaited is refused by the package's name, and nothing is sent", async () => {
    const db = await database();
    const pool = mariadbCallback.createPool(optionsOf(db.url));
    onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
    const client = await new Promise<PoolConnection>((resolve, reject) => {
      pool.getConnection((error, connection) =>
        error || connection === undefined ? reject(error) : resolve(connection),
      );
    });
    const words = "not written through the package mariadb/callback: it takes";
    expect(String(await rejection(queue.insert(pool, 1)))).toContain(words);
    expect(String(await rejection(queue.insert(client, 1)))).toContain(words);
    await new Promise((resolve) => client.release(resolve));
    // The package mysql has no prepared statements, and takes callbacks.
    const method = () => expect.unreachable("it was used");
    const old = { query: method, beginTransaction: method, commit: method, rollback: method };
    expect(String(await rejection(queue.insert(old, 1)))).toContain("through the package mysql:");
    const oldPool = { query: method, getConnection: (_callback: unknown) => method() };
    expect(String(await rejection(queue.insert(oldPool, 1)))).toContain("package mysql:");
    expect(await db.stored()).toEqual([]);
  });
});

describeOn("sqlite", "71: conn is whatever the service has", () => {
  function database() {
    const db = new Database(":memory:");
    onTestFinished(() => void db.close());
    for (const Table of [LeaseJobs, Exact]) {
      for (const statement of Table.ddl("sqlite")) db.exec(statement);
    }
    const stored = () =>
      db
        .prepare("SELECT payload FROM lease_jobs ORDER BY id")
        .all()
        .map((row) => JSON.parse(String(Reflect.get(Object(row), "payload"))));
    return { db, stored };
  }

  test("a database, and a transaction that it has open", async () => {
    const { db, stored } = database();
    await queue.insert(db, rows, { headers: { a: "b" }, delay: "1h" });
    expect(stored()).toEqual(rows);
    await rejection(LeaseJobs.insert(db, mixed));
    expect(stored()).toEqual(rows);
    db.exec("BEGIN");
    await queue.insert(db, [1, 2]);
    await LeaseJobs.insert(db, mixed.slice(0, 2));
    // Of what failed nothing is left, and the rest of the transaction is.
    await rejection(LeaseJobs.insert(db, mixed));
    expect(stored()).toEqual([...rows, 1, 2, 1, 2]);
    db.exec("ROLLBACK");
    expect(stored()).toEqual(rows);
  });

  test("within the driver's own transaction function it has written when it answers its promise", async () => {
    const { db, stored } = database();
    const writings: Promise<unknown>[] = [];
    const failing = db.transaction(() => {
      writings.push(queue.insert(db, rows));
      throw new Error("rolled back");
    });
    expect(failing).toThrow("rolled back");
    expect(stored()).toEqual([]);
    db.transaction(() => void writings.push(queue.insert(db, rows)))();
    expect(stored()).toEqual(rows);
    await Promise.all(writings);
  });

  test("64-bit values, times and bytes are as they were given", async () => {
    const { db } = database();
    db.exec(`INSERT INTO exact (id, big, at, bytes, payload) VALUES (${BIG}, 1, '', x'', '')`);
    expect(await Exact.insert(db, [exact, { ...exact, big: BIG }])).toEqual([BIG + 1n, BIG + 2n]);
    const found = db
      .prepare("SELECT CAST(big AS TEXT) AS big, hex(bytes) AS bytes, payload FROM exact")
      .all();
    expect(found.slice(1)).toEqual([
      { big: String(exact.big), bytes: "00FF275C80", payload: exact.payload },
      { big: String(BIG), bytes: "00FF275C80", payload: exact.payload },
    ]);
  });

  test("a database that a source has lent is waited for: that transaction is somebody else's", async () => {
    const { db, stored } = database();
    const connection = await fromBetterSqlite3(db).connect();
    await connection.begin();
    await queue.insert(connection, "theirs");
    const writing = queue.insert(db, "ours");
    await connection.rollback();
    await connection.release();
    await writing;
    expect(stored()).toEqual(["ours"]);
  });
});
