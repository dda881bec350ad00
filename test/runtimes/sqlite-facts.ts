/** What an adapter of a SQLite driver does, said as JSON: the test beside it knows what it should be. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Broker } from "../../src/broker/broker.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { types } from "../../src/dialect/sqlite/types.ts";
import { fromBetterSqlite3, type SqliteDatabaseLike } from "../../src/driver/better-sqlite3.ts";
import { fromBunSqlite } from "../../src/driver/bun-sqlite.ts";
import { fromNodeSqlite } from "../../src/driver/node-sqlite.ts";
import { c } from "../../src/table/columns.ts";

const Jobs = inboxTable("jobs", {
  columns: {
    id: c.bigint().id().generated(),
    lease: c.timestamp().lockedUntil().nullable(),
    big: c.bigint(),
    payload: c.bytes().payload(),
  },
});

type Constructor = new (path: string) => SqliteDatabaseLike;

/** Each driver by name: what makes its databases, and the adapter. */
const DRIVERS = {
  "better-sqlite3": {
    // Its newest version, which is not for Node 20, is beside the runtimes.
    module: process.env["BETTER_SQLITE3"] ?? "better-sqlite3",
    name: "default",
    adapt: fromBetterSqlite3,
  },
  libsql: { module: "libsql", name: "default", adapt: fromBetterSqlite3 },
  "node:sqlite": { module: "node:sqlite", name: "DatabaseSync", adapt: fromNodeSqlite },
  "bun:sqlite": { module: "bun:sqlite", name: "Database", adapt: fromBunSqlite },
} as const;

const driver = DRIVERS[process.env["SQLITE_DRIVER"] as keyof typeof DRIVERS];
const { adapt } = driver;
const loaded: unknown = createRequire(import.meta.url)(driver.module);
const Database = (driver.name === "default"
  ? loaded
  : Reflect.get(Object(loaded), driver.name)) as unknown as Constructor;

const folder = mkdtempSync(join(tmpdir(), "intray-facts-"));
const file = join(folder, "facts.db");
const facts: Record<string, unknown> = {};
try {
  await values();
  await inserted();
  await counts();
  await lockedFiles();
  await releases();
  await handlers();
  console.log(JSON.stringify(facts));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Rows written through the database itself, in the transaction that it has open. */
async function inserted(): Promise<void> {
  const db = new Database(":memory:");
  for (const statement of Jobs.ddl("sqlite")) db.exec(statement);
  const big = 9_007_199_254_740_993n;
  const row = { big, payload: Buffer.from([0, 255]) };
  const ids = await Jobs.insert(db, [row, { ...row, id: big }]);
  db.exec("BEGIN");
  await Jobs.insert(db, [row, { ...row, id: big + 9n }]);
  db.exec("ROLLBACK");
  const connection = await adapt(db).connect();
  const { rows } = await connection.query(
    "SELECT CAST(big AS TEXT) AS big, hex(payload) AS payload FROM jobs",
  );
  await connection.release();
  facts["inserted"] = [ids.map(String), ...rows];
}

/** On a database that the service has opened. Text with NUL takes the help of its codec. */
async function values(): Promise<void> {
  const db = new Database(":memory:");
  const connection = await adapt(db).connect();
  await connection.query(
    "CREATE TABLE t (n INTEGER PRIMARY KEY, big INTEGER, txt TEXT, raw BLOB, real REAL); CREATE TABLE u (x)",
  );
  const given = [
    [2n ** 63n - 1n, "a\0b", Buffer.from([0, 255]), 1.5],
    [-(2n ** 63n), "", Buffer.alloc(0), null],
    [9_007_199_254_740_993n, "ä", Buffer.from("x"), -0.25],
    [42, "5", null, 3],
  ];
  const { text } = types;
  for (const [big, txt, raw, real] of given) {
    await connection.query(
      `INSERT INTO t (big, txt, raw, real) VALUES (?, ${text.write("?")}, ?, ?)`,
      [big, text.encode(txt), raw, real],
    );
  }
  // Bytes that stand alone.
  await connection.query("INSERT INTO u (x) VALUES (?)", [Buffer.from([1, 0, 2])]);
  const { rows } = await connection.query(
    `SELECT big, ${text.read("txt")} AS txt, raw, real FROM t ORDER BY n`,
  );
  facts.values = rows.map(({ big, raw, real, txt }) => [
    `${typeof big} ${String(big)}`,
    text.decode(txt),
    Buffer.isBuffer(raw) ? `bytes ${raw.toString("hex")}` : raw,
    real,
  ]);
  const alone = await connection.query<{ x: Buffer; t: string }>("SELECT x, typeof(x) AS t FROM u");
  facts.bytesAlone = alone.rows.map(({ t, x }) => [t, x.toString("hex")]);
  const stored = await connection.query("SELECT typeof(?) AS number, length(?) AS empty", [5, ""]);
  facts.parameters = stored.rows;
  await connection.release();
  db.close();
}

async function counts(): Promise<void> {
  const source = adapt(() => new Database(":memory:"), { max: 1 });
  const connection = await source.connect();
  await connection.query("CREATE TABLE t (n INTEGER, what TEXT)");
  const counted: unknown[] = [];
  for (const text of [
    "INSERT INTO t VALUES (1, 'returning'), (2, 'select')",
    "UPDATE t SET n = n + 1 RETURNING n",
    "SELECT n FROM t WHERE n > 100",
    "WITH few AS (SELECT 2 AS n) DELETE FROM t WHERE n IN (SELECT n FROM few)",
  ]) {
    const { rowCount, rows } = await connection.query(text);
    counted.push([rowCount, rows.length]);
  }
  facts.counts = counted;
  await connection.release();
  source.close();
}

/** A handler's transaction on a file, and what would end it. */
async function handlers(): Promise<void> {
  const source = adapt(() => new Database(join(folder, "handlers.db")), { max: 4 });
  const setup = await source.connect();
  for (const statement of Jobs.ddl("sqlite")) await setup.query(statement);
  await setup.query("CREATE TABLE effects (what TEXT)");
  await Jobs.insert(setup, { big: 1n, payload: Buffer.from("{}") });
  const broker = new Broker(source, { pollIntervalMs: 20 });
  const said: string[] = [];
  const handled = new Promise<void>((resolve) => {
    broker.subscribe(Jobs.queue({ name: "jobs" }), { transactional: true }, async (_, { tx }) => {
      await tx.query("SAVEPOINT mine");
      await tx.query("INSERT INTO effects VALUES ('before')");
      for (const text of ["ROLLBACK TRANSACTION mine", "END TRANSACTION mine"]) {
        await tx.query(text).catch((error: unknown) => said.push(String(error)));
      }
      await tx.query("ROLLBACK TRANSACTION TO mine");
      await tx.query("INSERT INTO effects VALUES ('after')");
      resolve();
    });
  });
  await broker.start();
  await handled;
  await broker.stop();
  const { rows: effects } = await setup.query("SELECT what FROM effects");
  const { rows: left } = await setup.query("SELECT id FROM jobs");
  facts["handlers"] = [said.map((each) => each.split(" is refused here")[0]), effects, left];
  await setup.release();
  source.close();
}

/** A file that another connection is writing is tried again, from a timer. */
async function lockedFiles(): Promise<void> {
  const source = adapt(() => new Database(file), { max: 2, busyTimeoutMs: 5000 });
  const [writer, waiter] = [await source.connect(), await source.connect()];
  await writer.query("CREATE TABLE t (n INTEGER)");
  facts.mode = (await waiter.query("PRAGMA journal_mode")).rows;
  await writer.query("BEGIN IMMEDIATE");
  let isOver = false;
  const waiting = waiter.query("INSERT INTO t VALUES (1)").then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  facts.waitsForFile = !isOver;
  await writer.commit();
  await waiting;
  await writer.query("BEGIN IMMEDIATE");
  const impatient = adapt(() => new Database(file), { max: 1, busyTimeoutMs: 20 });
  const third = await impatient.connect();
  facts.givesUp = await third.query("INSERT INTO t VALUES (1)").then(
    () => "no",
    (error: unknown) => (/lock|busy/i.test(String(error)) ? "locked" : String(error)),
  );
  await writer.rollback();
  for (const each of [writer, waiter, third]) await each.release();
  source.close();
  impatient.close();
}

/** What a released connection leaves open is rolled back, and so is what it was given up in. */
async function releases(): Promise<void> {
  const source = adapt(() => new Database(file), { max: 1 });
  for (const error of [undefined, new Error("in doubt")]) {
    const connection = await source.connect();
    await connection.begin();
    await connection.query("INSERT INTO t VALUES (7)");
    await connection.release(error);
  }
  const connection = await source.connect();
  const { rows } = await connection.query("SELECT count(*) AS n FROM t WHERE n = 7");
  await connection.release();
  facts.leftAfterRelease = rows;
  source.close();
  const single = new Database(file);
  const lent = await adapt(single).connect();
  await lent.query("BEGIN IMMEDIATE");
  await lent.release();
  const again = await adapt(single).connect();
  await again.begin();
  await again.commit();
  await again.release();
  single.close();
}
