import mariadb from "mariadb";
import mysql from "mysql2/promise";
import { describe, expect, onTestFinished, test } from "vitest";
import { deadLetters } from "../../src/broker/dead-letters.ts";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import { purgeProcessed } from "../../src/broker/purge-processed.ts";
import { tableStatus } from "../../src/broker/table-status.ts";
import { fromMariadb } from "../../src/driver/mariadb.ts";
import { fromMysql2 } from "../../src/driver/mysql2.ts";
import { ack, deadLetter, retry } from "../../src/outcome.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";

const columns = {
  id: c.bigint().id().generated(),
  grp: c.text().group(),
  attempt: c.integer().attempt().generated(),
  due: c.timestamp().retryAfter().nullable(),
  done: c.timestamp().processedAt().nullable(),
  reason: c.text().nullable(),
  small: c.smallint("a_small"),
  big: c.bigint("a_big"),
  text: c.text("a_text"),
  raw: c.bytes("some_bytes"),
  json: c.json("some_json"),
  yes: c.boolean("a_truth"),
  at: c.timestamp("a_time"),
  uuid: c.uuid("a_uuid"),
  sum: c.decimal("a_sum"),
};
const lease = c.timestamp().lockedUntil().nullable();
const TABLES = [
  inboxTable("hostile_lease", { columns: { ...columns, lease } }),
  inboxTable("hostile_row", { columns }),
  inboxTable("hostile_key", { columns, advisoryLock: "job-{id}" }),
] as const;

const VALUES = {
  small: -7,
  big: 9_007_199_254_740_993n,
  text: "it's \\ exact \u{1f600}",
  raw: Buffer.from([0, 255, 39]),
  json: { a: [1, "two"] },
  yes: true,
  at: new Date("2026-03-01T12:00:00.123Z"),
  uuid: "0b0d6a4e-5d0f-4b3c-8f8e-2f6a1c9d7e10",
  sum: "12345678901234567890.123456789012345678901234567890",
};

/** Beyond 2^53, so that no number of JavaScript holds it. */
const FIRST_ID = 2n ** 62n + 1n;

const shout = (_field: unknown, next: () => unknown) => {
  const value = next();
  return value === null ? "NONE" : `<${String(value)}>`;
};

const OPTIONS = {
  mysql2: {
    "a typeCast": { typeCast: shout },
    "typeCast: false": { typeCast: false },
    rowsAsArray: { rowsAsArray: true },
    nestTables: { nestTables: true },
    "nestTables by a sign": { nestTables: "_" },
    namedPlaceholders: { namedPlaceholders: true },
    dateStrings: { dateStrings: true },
    decimalNumbers: { decimalNumbers: true },
    "supportBigNumbers as text": { supportBigNumbers: true, bigNumberStrings: true },
    "a time zone": { timezone: "+05:30" },
    "rows that changed, not those found": { flags: ["-FOUND_ROWS"] },
  },
  mariadb: {
    "a typeCast": { typeCast: shout },
    rowsAsArray: { rowsAsArray: true },
    nestTables: { nestTables: true },
    "nestTables by a sign": { nestTables: "_" },
    namedPlaceholders: { namedPlaceholders: true },
    dateStrings: { dateStrings: true },
    "insertIdAsNumber with a range": { insertIdAsNumber: true, checkNumberRange: true },
    "bigIntAsNumber with a range": { bigIntAsNumber: true, checkNumberRange: true },
    "decimalAsNumber with a range": { decimalAsNumber: true, checkNumberRange: true },
    "supportBigNumbers as text": { supportBigNumbers: true, bigNumberStrings: true },
    metaAsArray: { metaAsArray: true },
    "rows that changed, not those found": { foundRows: false },
  },
} as const;

function openPool(driver: keyof typeof OPTIONS, url: string | undefined, options: object) {
  if (url === undefined) throw new Error("the database has no address");
  if (driver === "mysql2") {
    const pool = mysql.createPool({ uri: url, connectionLimit: 4, ...options });
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
    ...options,
  });
  onTestFinished(() => pool.end());
  return { pool, source: fromMariadb(pool, { max: 4 }) };
}

describe("what a pool of MySQL or MariaDB is set to", () => {
  forEachTarget({ connections: "many", dialect: "mysql" }, ({ name }, open) => {
    const driver = name.startsWith("mariadb") ? "mariadb" : "mysql2";
    test.each(Object.entries<object>(OPTIONS[driver]))(
      "4, 20, 60, 71, 78: changes no value and no count: %s",
      async (_option, options) => {
        const db = await openTables(open, TABLES);
        const { pool, source } = openPool(driver, db.url, options);
        for (const Jobs of TABLES) {
          const { name: table } = Jobs.description;
          await db.query(`ALTER TABLE ${table} AUTO_INCREMENT = ${FIRST_ID}`);
          const ids = [
            ...(await Jobs.insert(source, [
              { ...VALUES, grp: "a" },
              { ...VALUES, grp: "a" },
            ])),
            await Jobs.insert(pool, { ...VALUES, grp: "a" }),
          ];
          expect(ids).toEqual([0n, 1n, 2n].map((n) => FIRST_ID + n));
          const { broker } = testBroker(source);
          const seen: unknown[] = [];
          const answers: unknown[] = [];
          broker.subscribe(
            Jobs.queue("a"),
            { name: table, workers: 1, transactional: true, deadLetter: Jobs.queue("dead") },
            async (row, { attempt, id, tx }) => {
              const { at, big, json, raw, small, sum, text, uuid, yes } = row;
              seen.push({ at, big, json, raw, small, sum, text, uuid, yes });
              const told = await tx.query("SELECT 'x' AS one, ? AS two", ["y"]);
              const plain = await tx.query("SELECT 'x' AS one");
              const written = await tx.query(db.effect, [table]);
              answers.push(told, plain, written);
              if (BigInt(String(id)) === ids[0]) return ack();
              if (BigInt(String(id)) === ids[1]) return deadLetter("no");
              return attempt === 1 ? retry() : ack();
            },
          );
          await broker.start();
          await until(() => {
            const settled = broker.stats()[0]?.settled;
            return settled?.ack === 2 && settled.deadLetter === 1;
          });
          expect(broker.stats()[0]?.settled.retry).toBe(1);
          await broker.stop();
          expect(seen).toEqual(Array(4).fill(VALUES));
          expect(answers).toEqual(
            Array(4)
              .fill([
                { rows: [{ one: "x", two: "y" }], rowCount: 1 },
                { rows: [{ one: "x" }], rowCount: 1 },
                { rows: [], rowCount: 1 },
              ])
              .flat(),
          );
          const dead = deadLetters(pool, Jobs.queue("dead"));
          expect(await dead.list()).toMatchObject([
            { id: String(ids[1]), attempt: 1, due: null, reason: "no" },
          ]);
          expect((await dead.show(String(ids[1])))?.columns).toMatchObject({
            big: String(VALUES.big),
            sum: VALUES.sum,
            at: "2026-03-01T12:00:00.123000Z",
            done: null,
          });
          expect(await tableStatus(source, Jobs.queue("dead"))).toMatchObject([
            { group: "dead", waiting: 1 },
          ]);
          expect(await dead.purge({ all: true })).toEqual([String(ids[1])]);
          expect(await purgeProcessed(source, Jobs, { olderThan: 0 })).toBe(2);
        }
        expect(await db.effects()).toHaveLength(6);
      },
    );

    test.each([true, false])(
      "27, 19: a row whose attempts are full is settled, whether the pool counts rows that it found: %s",
      async (found) => {
        const attempts = {
          id: c.bigint().id().generated(),
          attempt: c.smallint().attempt().generated(),
        };
        const tables = [
          inboxTable("full_row", { columns: attempts }),
          inboxTable("full_lease", { columns: { ...attempts, lease } }),
          inboxTable("full_key", { columns: attempts, advisoryLock: "job-{id}" }),
        ];
        const db = await openTables(open, tables);
        const flags = { flags: [found ? "FOUND_ROWS" : "-FOUND_ROWS"] };
        const { source } = openPool(
          driver,
          db.url,
          driver === "mysql2" ? flags : { foundRows: found },
        );
        for (const Full of tables) {
          await Full.insert(source, { attempt: 32_767 });
          const { broker } = testBroker(source);
          let calls = 0;
          broker.subscribe(Full.queue(), () => {
            calls += 1;
            return calls === 1 ? retry() : ack();
          });
          await broker.start();
          await until(() => broker.stats()[0]?.settled.ack === 1);
          expect(broker.stats()[0]?.settled.retry).toBe(1);
          expect(calls).toBe(2);
          await broker.stop();
        }
      },
    );
  });
});
