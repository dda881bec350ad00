import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { fromBetterSqlite3 } from "../../src/driver/better-sqlite3.ts";
import { retry } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { AdvisoryJobs, LeaseJobs, testBroker } from "../support/broker-table.ts";
import { describeOn } from "../support/databases.ts";
import { Gate } from "../support/gate.ts";
import { until } from "../support/until.ts";

/** A file of the test's own, and the driver's own connection to it beside the source's. */
function openFile({ busyTimeoutMs = 5000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "intray-sqlite-"));
  const path = join(folder, "app.db");
  const source = fromBetterSqlite3(() => new Database(path), { busyTimeoutMs });
  const other = new Database(path);
  other.exec("CREATE TABLE effects (what TEXT NOT NULL)");
  onTestFinished(() => {
    source.close();
    other.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const create = (table: { ddl(database: string): readonly string[] }) => {
    for (const statement of table.ddl("sqlite")) other.exec(statement);
  };
  return { source, other, create, all: (sql: string) => other.prepare(sql).all() };
}

describeOn("sqlite", "a file that somebody else is writing", () => {
  test("loses no settlement, and stops no event loop", async () => {
    // Shorter than the file is locked: a settlement is tried again when its own patience is over, too.
    const file = openFile({ busyTimeoutMs: 50 });
    file.create(LeaseJobs);
    const queue = LeaseJobs.queue("a");
    await queue.insert(file.source, 1);
    const { broker } = testBroker(file.source);
    const [started, gate] = [new Gate(), new Gate()];
    let calls = 0;
    broker.subscribe(queue, async () => {
      calls += 1;
      started.open();
      await gate.opened;
    });
    await broker.start();
    await started.opened;
    file.other.exec("BEGIN IMMEDIATE");
    file.other.exec("INSERT INTO effects VALUES ('other')");
    gate.open();
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 1);
    // Far past its patience; a statement that waited inside of SQLite would let no timer in.
    await until(() => turns >= 200);
    clearInterval(ticking);
    expect(file.all("SELECT 1 FROM lease_jobs")).toHaveLength(1);
    file.other.exec("COMMIT");
    await until(() => broker.stats()[0]?.settled.ack === 1);
    await broker.stop();
    expect(file.all("SELECT 1 FROM lease_jobs")).toEqual([]);
    expect(calls).toBe(1);
  });

  test("stops no event loop where it is opened, and leaves no connection behind", async () => {
    let [opened, closed] = [0, 0];
    const folder = mkdtempSync(join(tmpdir(), "intray-sqlite-"));
    const path = join(folder, "app.db");
    const blocker = new Database(path);
    const source = fromBetterSqlite3(() => {
      const db = new Database(path);
      const close = db.close.bind(db);
      opened += 1;
      return Object.assign(db, {
        close: () => {
          closed += 1;
          close();
        },
      });
    });
    onTestFinished(() => {
      source.close();
      blocker.close();
      rmSync(folder, { recursive: true, force: true });
    });
    blocker.exec("CREATE TABLE t (x)");
    blocker.exec("BEGIN EXCLUSIVE");
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 1);
    await expect(source.connect()).rejects.toMatchObject({ code: "SQLITE_BUSY" });
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(20);
    expect([opened, closed]).toEqual([1, 1]);
    blocker.exec("COMMIT");
    await (await source.connect()).release();
  });

  test("is in WAL mode: who reads waits for nobody", async () => {
    const file = openFile();
    file.create(LeaseJobs);
    const connection = await file.source.connect();
    onTestFinished(() => void connection.release());
    const mode = await connection.query("PRAGMA journal_mode");
    expect(mode.rows).toEqual([{ journal_mode: "wal" }]);
    file.other.exec("BEGIN IMMEDIATE");
    expect((await connection.query("SELECT 1 AS one FROM effects")).rows).toEqual([]);
    file.other.exec("ROLLBACK");
  });
});

describeOn("sqlite", "a statement that rolls the whole transaction back", () => {
  const INSTANT = { throw: () => retry() };

  /** A unique column whose conflicts undo the transaction. */
  function openUnique(table: typeof LeaseJobs | typeof AdvisoryJobs) {
    const file = openFile();
    file.create(table);
    file.other.exec("CREATE TABLE uniq (what TEXT UNIQUE ON CONFLICT ROLLBACK)");
    file.other.exec("INSERT INTO uniq VALUES ('taken')");
    return file;
  }

  test.each([LeaseJobs, AdvisoryJobs])(
    "13, 63: what a handler writes after it has caught one is refused, and its row comes again ($description.name)",
    async (table) => {
      const file = openUnique(table);
      await table.queue("a").insert(file.source, 1);
      const { broker } = testBroker(file.source);
      const answers: unknown[] = [];
      const options = { transactional: true, onFailure: INSTANT } as const;
      broker.subscribe(table.queue("a"), options, async (_, { attempt, tx }) => {
        await tx.sql`INSERT INTO effects VALUES (${`${attempt} before`})`;
        if (attempt === 1) {
          await tx.sql`INSERT INTO uniq VALUES ('taken')`.catch(() => {});
          await tx.sql`INSERT INTO effects VALUES ('outside')`.catch((error) =>
            answers.push(error),
          );
        }
      });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await broker.stop();
      expect(answers).toMatchObject([{ name: "TransactionError" }]);
      expect(file.all("SELECT what FROM effects")).toEqual([{ what: "2 before" }]);
    },
  );

  test.each([LeaseJobs, AdvisoryJobs])(
    "63: nothing is settled where one came by way of the driver's own database ($description.name)",
    async (table) => {
      const file = openUnique(table);
      await table.queue("a").insert(file.source, 1);
      const { broker, logger } = testBroker(file.source);
      const options = { transactional: true, onFailure: INSTANT } as const;
      broker.subscribe(table.queue("a"), options, async (_, { attempt, tx }) => {
        await tx.sql`INSERT INTO effects VALUES (${`${attempt} before`})`;
        if (attempt !== 1 || !(tx.client instanceof Database)) return;
        try {
          tx.client.exec("INSERT INTO uniq VALUES ('taken')");
        } catch {
          // The handler goes on.
        }
      });
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      await broker.stop();
      expect(file.all("SELECT what FROM effects")).toEqual([{ what: "2 before" }]);
      expect(logger.of("retried")).toMatchObject([
        { fields: { error: expect.stringContaining("ended its transaction") } },
      ]);
    },
  );
});

describeOn("sqlite", "4, 20: values on SQLite", () => {
  const Exact = inboxTable("exact", {
    columns: {
      id: c.bigint().id(),
      amount: c.decimal(),
      at: c.timestamp(),
      flag: c.boolean(),
      text: c.text(),
      raw: c.bytes(),
      lease: c.timestamp().lockedUntil().nullable(),
    },
  });
  const rows = [
    [
      2n ** 63n - 1n,
      "12345678901234567890.123456789",
      "2026-12-01T23:59:59.999Z",
      "a\0b",
      [0, 255],
    ],
    [-(2n ** 63n), "-0.10", "1969-12-31T23:59:59.001Z", "", []],
    [9_007_199_254_740_993n, "1", "2026-03-29T01:30:00.000Z", "5.0", [0x31]],
  ] as const;
  let seen: unknown[];

  beforeAll(() => {
    seen = [];
  });

  test("come back as they went: ids of 64 bits, decimals, times, text with NUL, bytes", async () => {
    const file = openFile();
    file.create(Exact);
    const given = rows.map(([id, amount, at, text, raw]) => ({
      id,
      amount,
      at: new Date(at),
      flag: id > 0n,
      text,
      raw: Buffer.from(raw),
    }));
    await Exact.insert(file.source, given);
    const { broker } = testBroker(file.source);
    broker.subscribe(Exact.queue(), ({ lease: _, ...row }) => void seen.push(row));
    await broker.start();
    await until(() => seen.length === rows.length);
    await until(() => broker.stats()[0]?.settled.ack === rows.length);
    await broker.stop();
    expect(file.all("SELECT 1 FROM exact")).toEqual([]);
    const [first, second, third] = given;
    // In the order of their ids, as numbers.
    expect(seen).toEqual([second, third, first]);
  });
});

describe("fromBetterSqlite3", () => {
  test("refuses what is no database, and options that are none", async () => {
    expect(() => fromBetterSqlite3({} as never)).toThrow(
      'fromBetterSqlite3: takes a database, such as new Database(":memory:"), or a function that opens one',
    );
    const open = () => new Database(":memory:");
    expect(() => fromBetterSqlite3(open, { max: 0 })).toThrow("max");
    expect(() => fromBetterSqlite3(open, { busyTimeoutMs: -1 })).toThrow("busyTimeoutMs");
    const wrong = fromBetterSqlite3((() => 1) as never);
    await expect(wrong.connect()).rejects.toThrow("a function that opens one");
  });
});
