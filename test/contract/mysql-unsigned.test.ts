import { describe, expect, test } from "vitest";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { purgeProcessed } from "../../src/broker/purge-processed.ts";
import { bind } from "../../src/dialect/bind.ts";
import { mysql } from "../../src/dialect/mysql/mysql.ts";
import { withConnection } from "../../src/driver/checkout.ts";
import { deadLetter } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, rejection, testBroker } from "../support/broker-table.ts";
import { forEachTarget, type OpenedSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id(),
  grp: c.bigint().group(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  big: c.bigint(),
};
const lockedUntil = c.timestamp().lockedUntil().nullable();
const fifo = c.bigint().group({ fifo: true });

const TABLES = {
  lease: inboxTable("u_lease", { columns: { ...columns, lockedUntil } }),
  "row lock": inboxTable("u_row", { columns }),
  "advisory lock": inboxTable("u_key", { columns, advisoryLock: "job-{id}" }),
  "lease, fifo": inboxTable("u_lease_fifo", { columns: { ...columns, lockedUntil, grp: fifo } }),
  "row lock, fifo": inboxTable("u_row_fifo", { columns: { ...columns, grp: fifo } }),
};
const FIFO = ["lease, fifo", "row lock, fifo"] as const;

const Kept = inboxTable("u_kept", {
  columns: { id: c.bigint().id().generated(), done: c.timestamp().processedAt().nullable() },
});

/** The last of a signed column, the first beyond it, and the last that there is. */
const EDGES = [2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n] as const;
const GROUP = 2n ** 64n - 2n;

async function unsigned({ query }: Pick<OpenedSource, "query">, name: string): Promise<void> {
  await query(`ALTER TABLE ${name} MODIFY id BIGINT UNSIGNED NOT NULL,
    MODIFY grp BIGINT UNSIGNED NOT NULL, MODIFY big BIGINT UNSIGNED NOT NULL`);
}

describe("numbers of a BIGINT UNSIGNED on MySQL and MariaDB", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, (_target, open) => {
    for (const [form, Jobs] of Object.entries(TABLES)) {
      test.each([1, 3])(
        `4: ids, groups and values of all 64 bits are claimed and settled, ${form}: %d at a time`,
        async (batch) => {
          const { name } = Jobs.description;
          const db = await openTables(open, [Jobs]);
          await unsigned(db, name);
          const ids = await Jobs.insert(
            db.source,
            EDGES.map((id) => ({ id, grp: GROUP, big: id })),
          );
          expect(ids).toEqual(EDGES);
          const { broker } = testBroker(db.source);
          const seen: unknown[] = [];
          broker.subscribe(Jobs.queue(GROUP), { batch, workers: 1 }, (rows) => {
            seen.push(...rows.map(({ big, grp, id }) => [id, grp, big]));
          });
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 3);
          expect(seen).toEqual(EDGES.map((id) => [id, GROUP, id]));
          expect((await db.query(`SELECT id FROM ${name}`)).rows).toEqual([]);
        },
      );
    }

    test.each(FIFO)("45, 47, 4: every group of all 64 bits has its turn, %s", async (form) => {
      const Jobs = TABLES[form];
      const { name } = Jobs.description;
      const db = await openTables(open, [Jobs]);
      await unsigned(db, name);
      const rows = [0n, ...EDGES].map((id) => ({ id, grp: id, big: id }));
      await Jobs.insert(db.source, rows);
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(Jobs.everyGroup(), { workers: 1 }, ({ grp }) => void seen.push(grp));
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 4);
      expect(seen).toEqual(expect.arrayContaining([0n, ...EDGES]));
    });

    test("53, 78, 4: dead letters of all 64 bits are moved, listed in pages, shown, run again and purged", async () => {
      const Jobs = TABLES.lease;
      const { name } = Jobs.description;
      const db = await openTables(open, [Jobs]);
      await unsigned(db, name);
      const [last, beyond, most] = EDGES;
      await Jobs.insert(
        db.source,
        EDGES.map((id) => ({ id, grp: GROUP, big: id })),
      );
      const dead = Jobs.queue(most);
      const { broker } = testBroker(db.source);
      broker.subscribe(Jobs.queue(GROUP), { deadLetter: dead }, () => deadLetter());
      await broker.start();
      await until(() => broker.stats()[0]?.settled.deadLetter === 3);
      await broker.stop();
      const letters = deadLetters(db.source, dead);
      const [first] = await letters.list({ limit: 1 });
      expect(first).toMatchObject({ id: String(most), group: String(most) });
      const rest = await letters.list({ after: most });
      expect(rest.map(({ id }) => id)).toEqual([String(beyond), String(last)]);
      expect((await letters.show(most))?.columns).toMatchObject({ big: String(most) });
      expect((await letters.retry({ ids: [most], to: Jobs.queue(GROUP) })).ids).toEqual([
        String(most),
      ]);
      expect(await letters.purge({ ids: [beyond] })).toEqual([String(beyond)]);
      expect(await letters.purge({ all: true })).toEqual([String(last)]);
      const { rows } = await db.query(`SELECT CAST(id AS CHAR) AS id FROM ${name}`);
      expect(rows).toEqual([{ id: String(most) }]);
    });

    test("78, 71, 4: processed rows of all 64 bits are purged page by page, and counted up", async () => {
      const db = await openTables(open, [Kept]);
      await db.query(`ALTER TABLE u_kept MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
        AUTO_INCREMENT = ${2n ** 63n + 5n}`);
      expect(await Kept.insert(db.source, [{}, {}])).toEqual([2n ** 63n + 5n, 2n ** 63n + 6n]);
      const done = new Date("2020-01-01");
      await Kept.insert(
        db.source,
        EDGES.map((id) => ({ id, done })),
      );
      expect(await purgeProcessed(db.source, Kept, { olderThan: "1d", chunk: 1 })).toBe(3);
      expect((await db.query("SELECT id FROM u_kept")).rows).toHaveLength(2);
    });

    test("29, 4: statements on rows in hand find them by their ids, signed or not", async () => {
      const Jobs = TABLES.lease;
      const { name } = Jobs.description;
      const settings = { columns: [], groups: "one", mostRows: 10, leaseMs: 1000 } as const;
      const lease = mysql.lease?.(Jobs.description, settings);
      if (lease === undefined) throw new Error("there is no such form");
      const db = await openTables(open, [Jobs]);
      for (const isSigned of [true, false]) {
        if (!isSigned) await unsigned(db, name);
        const rows = Array.from({ length: 500 }, (_, n) => BigInt(n + (isSigned ? 0 : 500)));
        await Jobs.insert(
          db.source,
          rows.map((id) => ({ id, grp: 1n, big: 1n })),
        );
        await db.query(`ANALYZE TABLE ${name}`);
        const ids = ["7", "8"];
        const given = {
          ids,
          tokens: ids.map(() => "2020-01-01"),
          attempts: ["1", "1"],
          leaseMs: 1,
        };
        const parts = [lease.ack, lease.retry, lease.extend].flatMap(
          ({ program }) => program?.parts ?? [],
        );
        const plans = await withConnection(db.source, new AbortController().signal, (connection) =>
          Promise.all(
            parts.map(async (part) => {
              const { params, text } = bind(part, given);
              // MySQL 9 answers a tree unless it is asked for a table.
              const explain = `EXPLAIN FORMAT=TRADITIONAL ${text}`;
              const explained = await connection.query(explain, params);
              // A row that is found by its key is read for the plan already.
              const isConst = String(explained.rows[0]?.["Extra"]).includes("const tables");
              return explained.rows.filter((row) => isConst || row["table"] === "i");
            }),
          ),
        );
        expect(plans).toHaveLength(9);
        for (const plan of plans) {
          expect(plan).toHaveLength(1);
          const [{ Extra, key, rows: read } = {}] = plan;
          expect(String(Extra).includes("const tables") || [key, Number(read)]).toEqual(
            expect.toBeOneOf([true, ["PRIMARY", 1]]),
          );
        }
      }
    });

    test("4: what a signed column does not hold is refused, and what no column holds is, too", async () => {
      const Jobs = TABLES["row lock"];
      const db = await openTables(open, [Jobs]);
      const row = { id: 1n, grp: 1n, big: 2n ** 63n };
      expect(String(await rejection(Jobs.insert(db.source, row)))).toMatch(/out of range.*big/i);
      const beyond = { ...row, big: 2n ** 64n };
      expect(await rejection(Jobs.insert(db.source, beyond))).toBeInstanceOf(TypeError);
      const least = -(2n ** 63n);
      await Jobs.insert(db.source, { id: least, grp: least, big: least });
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      broker.subscribe(Jobs.queue(least), ({ big, id }) => void seen.push(id, big));
      await broker.start();
      await until(() => broker.stats()[0]?.settled.ack === 1);
      expect(seen).toEqual([least, least]);
    });
  });
});
