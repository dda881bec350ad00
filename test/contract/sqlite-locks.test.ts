import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "libsql";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { fromBetterSqlite3 } from "../../src/driver/better-sqlite3.ts";
import type { Connection, ConnectionLocks, ConnectionSource } from "../../src/driver/connection.ts";
import { testBroker } from "../support/broker-table.ts";
import { describeOn } from "../support/databases.ts";
import { emptySqlite, sqliteFile } from "../support/sqlite.ts";
import { until } from "../support/until.ts";
import { holderTables } from "./processes/holder-tables.ts";
import { endAll, HolderProcess } from "./processes/programs.ts";

afterEach(endAll);

interface Locking {
  readonly connection: Connection;
  readonly locks: ConnectionLocks;
}

async function connected(source: ConnectionSource): Promise<Locking> {
  const connection = await source.connect();
  const { locks } = connection;
  if (locks === undefined) throw new Error("the connection has no locks");
  return { connection, locks };
}

async function openFile() {
  const file = await sqliteFile();
  onTestFinished(() => file.remove());
  return { ...file, files: () => readdirSync(dirname(file.path)) };
}

/** Files of owners: what is named by a UUID. */
const owners = (files: readonly string[]) => files.filter((name) => /-intray-\w{8}-/.test(name));

describeOn("sqlite", "42: locks on keys of SQLite", () => {
  describe("sqlite file", () => {
    test("are one connection's, until it unlocks them or is released", async () => {
      const file = await openFile();
      const [a, b] = [await connected(file.open(4)), await connected(file.open(4))];
      expect(await a.locks.tryLock("one")).toBe(true);
      expect(await a.locks.tryLock("one")).toBe(false);
      expect(await b.locks.tryLock("one")).toBe(false);
      expect(await b.locks.tryLock("two")).toBe(true);
      expect(await b.locks.unlock("one")).toBe(false);
      expect((await a.locks.held()).toSorted()).toEqual(["one", "two"]);
      // A lock is no part of a transaction.
      await a.connection.begin();
      expect(await a.locks.tryLock("three")).toBe(true);
      await a.connection.rollback();
      expect(await b.locks.tryLock("three")).toBe(false);
      expect(await a.locks.unlock("one")).toBe(true);
      expect(await b.locks.tryLock("one")).toBe(true);
      await a.connection.release(new Error("in doubt"));
      expect((await b.locks.held()).toSorted()).toEqual(["one", "two"]);
      await b.connection.release();
    });

    test("take their owners' files with them when their sources are closed", async () => {
      const file = await openFile();
      const sources = [file.open(2), file.open(2)];
      for (const source of sources) {
        const { connection, locks } = await connected(source);
        expect(await locks.tryLock("one")).toBe(true);
        await connection.release();
      }
      expect(owners(file.files())).toHaveLength(2);
      for (const source of sources) source.close();
      expect(owners(file.files())).toEqual([]);
      expect(file.files()).toContain("test.db-intray-locks");
    });

    test("hold between a database that the service has opened and a source of its file", async () => {
      const file = await openFile();
      const db = new Database(file.path);
      onTestFinished(() => void db.close());
      const single = await connected(fromBetterSqlite3(db));
      const other = await connected(file.open(1));
      expect(await single.locks.tryLock("one")).toBe(true);
      expect(await other.locks.tryLock("one")).toBe(false);
      await single.connection.release();
      expect(await other.locks.tryLock("one")).toBe(true);
      await other.connection.release();
    });

    test("are let go by a connection that was released while it locked", async () => {
      const file = await openFile();
      const [a, b] = [await connected(file.open(1)), await connected(file.open(1))];
      await b.locks.held();
      const locking = a.locks.tryLock("one");
      await a.connection.release();
      await expect(locking).rejects.toThrow("released");
      expect(await b.locks.tryLock("one")).toBe(true);
      await b.connection.release();
    });

    test("two at once never have one key", async () => {
      const file = await openFile();
      const all: Locking[] = [];
      for (let n = 0; n < 3; n += 1) all.push(await connected(file.open(1)));
      const holders = new Map<string, number>();
      let taken = 0;
      await Promise.all(
        all.map(async ({ locks }, who) => {
          for (let round = 0; round < 100; round += 1) {
            const key = `key-${round % 3}`;
            if (!(await locks.tryLock(key))) continue;
            expect(holders.has(key)).toBe(false);
            holders.set(key, who);
            taken += 1;
            await new Promise((resolve) => setImmediate(resolve));
            holders.delete(key);
            expect(await locks.unlock(key)).toBe(true);
          }
        }),
      );
      expect(taken).toBeGreaterThan(0);
      for (const { connection } of all) await connection.release();
    });
  });

  describe("sqlite in memory", () => {
    test("hold within the process in memory", async () => {
      const source = await emptySqlite();
      const first = await connected(source);
      expect(await first.locks.tryLock("one")).toBe(true);
      expect(await first.locks.tryLock("one")).toBe(false);
      expect(await first.locks.held()).toEqual(["one"]);
      await first.connection.release();
      const second = await connected(source);
      expect(await second.locks.held()).toEqual([]);
      expect(await second.locks.tryLock("one")).toBe(true);
      await second.connection.release();
    });
  });
});

describeOn("sqlite", "a process on a SQLite file that is killed", () => {
  describe("sqlite file", () => {
    async function openHolders(table: "advisoryLock") {
      const file = await openFile();
      const source = file.open(4);
      const Jobs = holderTables[table];
      const connection = await source.connect();
      for (const statement of Jobs.ddl("sqlite")) await connection.query(statement);
      await connection.release();
      const queue = Jobs.queue("a");
      return {
        file,
        source,
        queue,
        insert: (...payloads: string[]) => queue.insert(source, payloads),
        async query(text: string) {
          const asking = await source.connect();
          const { rows } = await asking.query(text);
          await asking.release();
          return rows;
        },
        async hold() {
          const holder = await HolderProcess.start({
            url: file.path,
            kind: "sqlite file",
            connections: 5,
            table,
            leaseMs: 30_000,
          });
          onTestFinished(() => holder.kill());
          return holder;
        },
      };
    }

    test("41, 42: it leaves no lock and no file, and its rows are back at once", async () => {
      const jobs = await openHolders("advisoryLock");
      await jobs.insert("a", "a", "b", "c");
      const holder = await jobs.hold();
      await until(() => holder.holds.length === 2);
      const seen: string[] = [];
      const { broker } = testBroker(jobs.source);
      broker.subscribe(jobs.queue, (message, { attempt }) => {
        seen.push(`${message} ${attempt}`);
      });
      await broker.start();
      await until(() => seen.length === 1);
      // The second row of the key waits with the first.
      expect(seen).toEqual(["c 1"]);
      expect(owners(jobs.file.files())).toHaveLength(2);
      await holder.kill();
      await until(() => broker.stats()[0]?.settled.ack === 4, { deadline: 5000 });
      await broker.stop();
      expect(seen.toSorted()).toEqual(["a 1", "a 2", "b 2", "c 1"]);
      expect(owners(jobs.file.files())).toHaveLength(1);
    });

    test("24: a row that kills each process goes to the dead letter when its attempts are spent", async () => {
      const jobs = await openHolders("advisoryLock");
      await jobs.insert("kills");
      for (const attempt of [1, 2]) {
        const holder = await jobs.hold();
        await until(() => !holder.isRunning);
        expect(holder.child.signalCode).toBe("SIGKILL");
        expect(await jobs.query("SELECT grp, attempt FROM jobs")).toEqual([
          { grp: "a", attempt: attempt + 1 },
        ]);
      }
      await jobs.hold();
      const dead = "SELECT reason FROM jobs WHERE grp = 'dead'";
      await until(async () => (await jobs.query(dead)).length === 1);
      expect(await jobs.query(dead)).toEqual([
        { reason: expect.stringContaining("all 2 attempts") },
      ]);
      // Each process took the files of those before it away.
      expect(owners(jobs.file.files())).toHaveLength(1);
    });
  });
});
