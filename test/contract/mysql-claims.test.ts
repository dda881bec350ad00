import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { bind } from "../../src/dialect/bind.ts";
import { mysql } from "../../src/dialect/mysql/mysql.ts";
import type { Connection } from "../../src/driver/connection.ts";
import { runSteps } from "../../src/driver/run-steps.ts";
import { c } from "../../src/table/columns.ts";
import type { IsolationLevel } from "../../src/table/description.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { Gate } from "../support/gate.ts";
import { forEachTarget, type OpenedSource } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id().generated(),
  grp: c.text().group(),
  prio: c.integer().priority().nullable(),
  due: c.timestamp().retryAfter().nullable(),
  attempt: c.integer().attempt().generated(),
  payload: c.json().payload(),
};
const Jobs = inboxTable("jobs", { columns });

/** A transaction that the test holds open. */
async function transaction(
  { source }: Pick<OpenedSource, "source">,
  level?: IsolationLevel,
): Promise<Connection> {
  const connection = await source.connect();
  onTestFinished(async () => {
    await connection.rollback();
    await connection.release();
  });
  await runSteps(connection, [mysql.begin(level)]);
  return connection;
}

function claiming(limit: number, group = "a") {
  const statement = mysql.rowLock?.(Jobs.description, {
    columns: [],
    groups: "one",
    mostRows: 10,
  }).claim;
  if (statement === undefined) throw new Error("there is no such form");
  return async (connection: Connection) => {
    const [result] = await runSteps<{ id: string }>(connection, [
      bind(statement, { limit, group }),
    ]);
    return (result?.rows ?? []).map(({ id }) => id);
  };
}

describe("claims on MySQL and MariaDB", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, (_target, open) => {
    test.each([3, 60, 3_000])(
      "25: of %d rows, a held claim hides no other row: not of its group, and of no other",
      async (rows) => {
        const db = await openTables(open, [Jobs]);
        const every = Array.from({ length: rows }, (_, n) => ({
          grp: n % 3 === 0 ? "b" : "a",
          prio: n % 4 === 0 ? null : n % 2,
          due: n % 5 === 0 ? new Date("2020-01-01") : null,
          payload: n,
        }));
        await Jobs.insert(db.source, every);
        await db.query("ANALYZE TABLE jobs");
        const holder = await transaction(db);
        const held = await claiming(1)(holder);
        expect(held).toHaveLength(1);
        // What somebody else can lock is all but the rows that the claim has taken.
        const other = await transaction(db);
        const free = await other.query<{ id: unknown }>(
          "SELECT id FROM jobs FOR UPDATE SKIP LOCKED",
        );
        expect(free.rows).toHaveLength(rows - 1);
        expect(free.rows.map(({ id }) => String(id))).not.toContain(held[0]);
        await other.rollback();
      },
    );

    test("23, 25: without the advised index a claim locks no more, and the start says what to create", async () => {
      const db = await openTables(open, [Jobs]);
      await db.query("DROP INDEX jobs_claim_idx ON jobs");
      await Jobs.insert(
        db.source,
        Array.from({ length: 50 }, (_, n) => ({ grp: "a", payload: n })),
      );
      const holder = await transaction(db);
      expect(await claiming(2)(holder)).toHaveLength(2);
      const other = await transaction(db);
      const free = await other.query("SELECT id FROM jobs FOR UPDATE SKIP LOCKED");
      expect(free.rows).toHaveLength(48);
      await other.rollback();
      await holder.rollback();
      const { broker, logger } = testBroker(db.source);
      broker.subscribe(Jobs.queue("a"), () => undefined);
      await broker.start();
      expect(logger.of("index_advice")).toMatchObject([
        { fields: { ddl: expect.stringMatching(/^CREATE INDEX `jobs_claim_idx`\s+ON `jobs`/) } },
      ]);
      await until(() => broker.stats()[0]?.settled.ack === 50);
    });

    test("25, 43: rows that others have locked never starve those behind them, however many they are", async () => {
      const db = await openTables(open, [Jobs]);
      await Jobs.insert(
        db.source,
        Array.from({ length: 300 }, (_, n) => ({ grp: "a", payload: n })),
      );
      const holder = await transaction(db);
      await holder.query("SELECT id FROM jobs WHERE id <= 290 FOR UPDATE");
      const other = await transaction(db);
      expect(await claiming(3)(other)).toEqual(["291", "292", "293"]);
    });

    test.each(["readUncommitted", "readCommitted", "repeatableRead", "serializable"] as const)(
      "8: handlers and row locks at %s, and without a level at read committed",
      async (isolation) => {
        const At = inboxTable("at_jobs", { columns, isolation });
        const Lease = inboxTable("lease_jobs", {
          columns: { ...columns, lease: c.timestamp().lockedUntil().nullable() },
          isolation,
        });
        const Plain = inboxTable("plain_jobs", { columns });
        const db = await openTables(open, [At, Lease, Plain], { max: 8 });
        const { broker } = testBroker(db.source);
        const levels: Record<string, unknown> = {};
        const sessions = new Map<number, string>();
        const gate = new Gate();
        for (const table of [At, Lease, Plain]) {
          const { name } = table.description;
          const options = { name, transactional: true } as const;
          broker.subscribe(table.queue("a"), options, async (_, { tx }) => {
            await tx.query(db.effect, [name]);
            const { rows } = await tx.query("SELECT CONNECTION_ID() AS id");
            sessions.set(Number(rows[0]?.["id"]), name);
            await gate.opened;
          });
          await table.queue("a").insert(db.source, 1);
        }
        await broker.start();
        await until(() => sessions.size === 3);
        // The server refreshes this list when nobody has read it for a tenth of a second.
        await until(
          async () => {
            const { rows } = await db.query<{ id: number; level: string }>(
              "SELECT trx_mysql_thread_id AS id, trx_isolation_level AS level FROM information_schema.innodb_trx",
            );
            for (const { id, level } of rows) levels[sessions.get(Number(id)) ?? "others"] = level;
            delete levels["others"];
            return Object.keys(levels).length === 3;
          },
          { interval: 300 },
        );
        gate.open();
        await until(() => broker.stats().every(({ settled }) => settled.ack === 1));
        const words = isolation.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();
        expect(levels).toEqual({
          at_jobs: words,
          lease_jobs: words,
          plain_jobs: "READ COMMITTED",
        });
        expect(await db.effects()).toHaveLength(3);
      },
    );

    test("62: two brokers at every level deliver each row once, and settle it", async () => {
      for (const isolation of ["repeatableRead", "serializable"] as const) {
        const At = inboxTable(`at_${isolation.toLowerCase()}`, {
          columns: { ...columns, lease: c.timestamp().lockedUntil().nullable() },
          isolation,
        });
        const db = await openTables(open, [At]);
        const queue = At.queue("a");
        await queue.insert(
          db.source,
          Array.from({ length: 60 }, (_, n) => n),
        );
        const seen: unknown[] = [];
        const brokers = [db.source, db.another()].map((source) => {
          const { broker } = testBroker(source, { leaseMs: 1000 });
          broker.subscribe(queue, { workers: 3, transactional: true }, async (n, { tx }) => {
            seen.push(n);
            await tx.query(db.effect, [String(n)]);
          });
          return broker;
        });
        for (const broker of brokers) await broker.start();
        await until(
          async () => (await db.query(`SELECT id FROM ${At.description.name}`)).rows.length === 0,
        );
        for (const broker of brokers) await broker.stop();
        expect(new Set(await db.effects()).size).toBe(60);
        expect(await db.effects()).toHaveLength(60);
      }
    });

    test("14, 45: a group is locked in the letters of its own head, whatever a collation takes for the same", async () => {
      const grp = c.text().group({ fifo: true });
      const Fifo = inboxTable("fifo_letters", { columns: { ...columns, grp } });
      const db = await openTables(open, [Fifo]);
      await db.query(
        "ALTER TABLE fifo_letters MODIFY grp VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL",
      );
      await Fifo.insert(db.source, [
        { grp: "ss", payload: 1 },
        { grp: "ß", payload: 2 },
      ]);
      const settings = { columns: [], groups: "every", mostRows: 10 } as const;
      const claim = mysql.rowLock?.(Fifo.description, settings).claim;
      if (claim === undefined) throw new Error("there is no such form");
      const holder = await transaction(db);
      // Behind either of its names, and from the first one.
      for (const after of [null, "ss", "ß", "a", "z"]) {
        const [result] = await runSteps(holder, [bind(claim, { after, limit: 5 })]);
        expect(result?.rows.map((row) => row["group"])).toEqual(["ss"]);
        const { rows } = await holder.query<{ held: unknown }>(
          "SELECT IS_USED_LOCK(CONCAT(DATABASE(), '.fifo_letters/ss')) IS NOT NULL AS held",
        );
        expect(Number(rows[0]?.held)).toBe(1);
        await holder.query("DO RELEASE_ALL_LOCKS()");
      }
    });

    test("47: a claim of every group does not read the index again for each group", async () => {
      const grp = c.text().group({ fifo: true });
      const lease = c.timestamp().lockedUntil().nullable();
      const Every = inboxTable("every_read", { columns: { ...columns, grp, lease } });
      const db = await openTables(open, [Every]);
      // Of 10,000 rows each of 1,000 groups has ten.
      const due = new Date("2100-01-01");
      for (let place = 0; place < 10; place += 1) {
        await Every.insert(
          db.source,
          Array.from({ length: 1000 }, (_, n) => ({ grp: `g${n}`, due, payload: n })),
        );
      }
      const settings = { columns: [], groups: "every", mostRows: 10, leaseMs: 1000 } as const;
      const { claim, walkedTo } = mysql.lease?.(Every.description, settings) ?? {};
      if (claim === undefined || walkedTo === undefined) throw new Error("there is no such form");
      const connection = await transaction(db);
      for (const statement of [claim, walkedTo]) {
        for (const after of [null, "g5"]) {
          await connection.query("FLUSH STATUS");
          await runSteps(connection, [bind(statement, { after, limit: 10, leaseMs: 1000 })]);
          const { rows } = await connection.query<{ Value: unknown }>(
            "SHOW SESSION STATUS LIKE 'Handler_read%'",
          );
          const read = rows.reduce((sum, { Value }) => sum + Number(Value), 0);
          // Each row once at most, the first of 500 groups, and what is sorted.
          expect(read).toBeGreaterThan(500);
          expect(read).toBeLessThan(20_000);
        }
      }
    });

    test("38, 45: groups and keys are locked for every session, whatever database it is in", async () => {
      const anywhere = await openTables(open, []);
      const { rows } = await anywhere.query<{ name: string }>("SELECT DATABASE() AS name");
      const schema = rows[0]?.name ?? "";
      const grp = c.text().group({ fifo: true });
      const Fifo = inboxTable("fifo_anywhere", { schema, columns: { ...columns, grp } });
      const Keyed = inboxTable("keyed_anywhere", { schema, columns, advisoryLock: "job-{grp}" });
      const db = await openTables(open, [Fifo, Keyed]);
      const settings = { columns: [], groups: "one", mostRows: 10 } as const;
      const claims = [
        mysql.rowLock?.(Fifo.description, settings).claim,
        mysql.advisoryLock?.(Keyed.description, settings).claim,
      ];
      for (const [n, table] of [Fifo, Keyed].entries()) {
        const claim = claims[n];
        if (claim === undefined) throw new Error("there is no such form");
        const claimed = async (connection: Connection) => {
          const values = { limit: 5, group: "a" };
          const [result] = await runSteps(connection, [bind(claim, values)]);
          return (result?.rows ?? []).map(({ id }) => id);
        };
        await table.insert(db.source, [{ id: 5n, grp: "a", payload: 5 }]);
        const holder = await transaction(db);
        expect(await claimed(holder)).toEqual(["5"]);
        await table.insert(db.source, [{ id: 1n, grp: "a", payload: 1 }]);
        const elsewhere = await transaction(db);
        await elsewhere.query("USE information_schema");
        try {
          expect(await claimed(elsewhere)).toEqual([]);
        } finally {
          await elsewhere.query(`USE \`${schema}\``);
          await holder.query("DO RELEASE_ALL_LOCKS()");
        }
      }
    });

    test("45, 47: a claim of every fifo group works as often as its session executes it", async () => {
      const grp = c.text().group({ fifo: true });
      const lease = c.timestamp().lockedUntil().nullable();
      const RowLock = inboxTable("every_row_lock", { columns: { ...columns, grp } });
      const Lease = inboxTable("every_lease", { columns: { ...columns, grp, lease } });
      const db = await openTables(open, [RowLock, Lease]);
      const settings = { columns: [], groups: "every", mostRows: 10, leaseMs: 0 } as const;
      const claims = [
        mysql.rowLock?.(RowLock.description, settings).claim,
        mysql.lease?.(Lease.description, settings).claim,
      ];
      for (const [n, table] of [RowLock, Lease].entries()) {
        await table.insert(db.source, [
          { grp: "a", payload: 1 },
          { grp: "b", payload: 2 },
        ]);
        const claim = claims[n];
        if (claim === undefined) throw new Error("there is no such form");
        const connection = await transaction(db);
        for (let execution = 1; execution <= 3; execution += 1) {
          const values = { after: null, limit: 5, leaseMs: 0 };
          const [result] = await runSteps(connection, [bind(claim, values)]);
          expect(result?.rows.map((row) => row["group"])).toEqual(["a", "b"]);
          await connection.query("DO RELEASE_ALL_LOCKS()");
        }
      }
    });

    test("45: a row lock fifo group is free again when its transaction ends, on a session that goes on", async () => {
      const Fifo = inboxTable("fifo_jobs", {
        columns: { ...columns, grp: c.text().group({ fifo: true }) },
      });
      const db = await openTables(open, [Fifo], { max: 2 });
      const queue = Fifo.queue("a");
      await queue.insert(db.source, [1, 2, 3]);
      const { broker } = testBroker(db.source);
      const seen: unknown[] = [];
      const gate = new Gate();
      broker.subscribe(queue, { workers: 4 }, async (n) => {
        seen.push(n);
        if (n === 1) await gate.opened;
      });
      await broker.start();
      await until(() => seen.length === 1);
      const lock = "SELECT IS_USED_LOCK(CONCAT(DATABASE(), '.', 'fifo_jobs/a')) IS NULL AS free";
      expect(Number((await db.query<{ free: unknown }>(lock)).rows[0]?.free)).toBe(0);
      gate.open();
      await until(() => broker.stats()[0]?.settled.ack === 3);
      expect(seen).toEqual([1, 2, 3]);
      await broker.stop();
      expect(Number((await db.query<{ free: unknown }>(lock)).rows[0]?.free)).toBe(1);
    });
  });
});
