import { describe, expect, onTestFinished, test } from "vitest";
import { inboxTable } from "../../src/broker/inbox-table.ts";
import type { ConnectionSource } from "../../src/driver/connection.ts";
import { c } from "../../src/table/columns.ts";
import { openTables, testBroker } from "../support/broker-table.ts";
import { forEachTarget } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { wordsOf } from "../support/words.ts";

const Values = inboxTable("exact_values", {
  columns: {
    id: c.bigint().id(),
    grp: c.text().group(),
    attempt: c.integer().attempt().generated(),
    due: c.timestamp().retryAfter().nullable(),
    lease: c.timestamp().lockedUntil().nullable(),
    small: c.smallint("a_small"),
    whole: c.integer("a_whole"),
    big: c.bigint("a_big"),
    text: c.text("a_text"),
    bytes: c.bytes("some_bytes"),
    json: c.json<unknown>("a_json"),
    flag: c.boolean("a_flag"),
    at: c.timestamp("an_instant"),
    uuid: c.uuid("a_uuid"),
    decimal: c.decimal("a_decimal"),
    none: c.text("a_null").nullable(),
  },
});

const PLAIN = {
  grp: "a",
  due: null,
  small: 1,
  whole: 1,
  big: 1n,
  text: "",
  bytes: Buffer.alloc(0),
  json: {},
  flag: false,
  at: new Date(0),
  uuid: "00000000-0000-4000-8000-000000000000",
  decimal: "0",
  none: null,
};

const LAST = {
  ...PLAIN,
  id: 9_223_372_036_854_775_807n,
  small: 32_767,
  whole: 2_147_483_647,
  big: 9_223_372_036_854_775_807n,
  text: "123",
  json: "123",
  // An hour that clocks of the zones below do not have, or have twice.
  at: new Date("2024-03-31T01:30:00.001Z"),
  decimal: "-0.000000000000000000000000000001",
};

const ROWS = [
  {
    ...PLAIN,
    // The first whole number that a double does not hold.
    id: 9_007_199_254_740_993n,
    small: -32_768,
    whole: -2_147_483_648,
    big: -9_223_372_036_854_775_808n,
    text: "back\\slash ' \" ? $1 :name %s \u{1F600} \n\r\t, and blanks at the end  ",
    bytes: Buffer.from([0, 255, 39, 92, 128, 10, 0]),
    json: { text: "\u{1F600} '\\\"", list: [null, true, 1.5], nested: { at: "2024-02-29" } },
    flag: true,
    at: new Date("2024-02-29T23:59:59.123Z"),
    uuid: "0f0e0d0c-0b0a-4908-8706-050403020100",
    decimal: "12345678901234567890.123456789",
  },
  LAST,
];

/** A process at one of them is at no other: Lord Howe's clock moves by half an hour. */
const ZONES = ["UTC", "America/New_York", "Europe/Paris", "Australia/Lord_Howe"];

/** Each connection as a session whose time zone is not UTC. */
function elsewhere(source: ConnectionSource, zone: string | undefined): ConnectionSource {
  if (zone === undefined) return source;
  return {
    ...(source.max !== undefined && { max: source.max }),
    ...(source.database !== undefined && { database: source.database }),
    async connect(signal) {
      const connection = await source.connect(signal);
      await connection.query(zone);
      return connection;
    },
  };
}

function inZone(zone: string): void {
  const before = process.env["TZ"];
  process.env["TZ"] = zone;
  onTestFinished(() => {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });
}

/** A decimal without the zeros that a column of a fixed scale adds. */
function trimmed(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

describe("values are exact", () => {
  forEachTarget({ connections: "one" }, ({ dialect, name }, open) => {
    const words = wordsOf(dialect.name);
    // Of the 38 digits of SQL Server's decimal ten are behind the point.
    const rows =
      dialect.name === "sqlserver" ? ROWS.with(1, { ...LAST, decimal: "-0.0000000001" }) : ROWS;

    test.each(ZONES)(
      "4, 20: of each type, in a process at %s and sessions at +05:30",
      async (zone) => {
        inZone(zone);
        const db = await openTables(open, [Values]);
        // PGlite's and a memory's one connection stays as it was made.
        const source = name === "pglite" ? db.source : elsewhere(db.source, words.zone);
        expect(await Values.insert(source, rows)).toEqual(rows.map(({ id }) => id));
        const { broker } = testBroker(source);
        const seen: unknown[] = [];
        broker.subscribe(Values.queue("a"), { batch: 2 }, (batch) => {
          for (const { attempt, lease, ...row } of batch) {
            expect(attempt).toBe(2);
            expect(Number(lease) - Date.now()).toBeGreaterThan(20_000);
            seen.push({
              ...row,
              bytes: Buffer.from(row.bytes),
              decimal: trimmed(row.decimal),
            });
          }
        });
        await broker.start();
        await until(() => broker.stats()[0]?.settled.ack === 2);
        expect(seen).toEqual(rows);
        expect((await db.query("SELECT id FROM exact_values")).rows).toEqual([]);
      },
    );

    test.each(ZONES)("9, 4: instants are stored in UTC, from a process at %s", async (zone) => {
      inZone(zone);
      const db = await openTables(open, [Values]);
      const source = name === "pglite" ? db.source : elsewhere(db.source, words.zone);
      await Values.insert(source, ROWS.slice(0, 1));
      const { rows } = await db.query<{ at: string }>(
        `SELECT ${words.utc("an_instant")} AS at FROM exact_values`,
      );
      expect(rows[0]?.at.replace("T", " ")).toMatch(/^2024-02-29 23:59:59\.123/);
    });

    test("14, 15: rows that are due a microsecond apart go out in that order", async () => {
      const db = await openTables(open, [Values]);
      const ids = [5n, 3n, 4n, 1n, 2n];
      await Values.insert(
        db.source,
        ids.map((id) => ({ ...PLAIN, id })),
      );
      const digits = words.finest;
      for (const [index, id] of ids.entries()) {
        const fraction = String(index + 1).padStart(digits, "0");
        await db.query(
          `UPDATE exact_values SET due = ${words.instant(`2024-02-29 23:59:59.${fraction}`)} WHERE id = ${id}`,
        );
      }
      const { broker } = testBroker(db.source);
      const seen: bigint[] = [];
      broker.subscribe(Values.queue("a"), ({ id }) => void seen.push(id));
      await broker.start();
      await until(() => seen.length === ids.length);
      expect(seen).toEqual(ids);
    });
  });
});
